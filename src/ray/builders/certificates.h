// cert-manager objects behind mutual TLS: a CA of the cluster's own, a certificate for the head and
// one for the workers. Source: spec/03 §9.5.
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <string>
#include <vector>

namespace manta::ray {

Json build_self_signed_issuer(const RayCluster& cluster);
Json build_ca_certificate(const RayCluster& cluster);
Json build_ca_issuer(const RayCluster& cluster);
/// `pod_ips`: of the Pods that are there now; the loopback address is added.
Json build_head_certificate(const RayCluster& cluster, const std::vector<std::string>& pod_ips,
                            const BuildOptions& options);
Json build_worker_certificate(const RayCluster& cluster, const std::vector<std::string>& pod_ips);

}  // namespace manta::ray
