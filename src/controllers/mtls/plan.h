// The mTLS controller: one pure function over RayClusters that asks cert-manager for a CA of the
// cluster's own and for a certificate each of head and workers, which name the Pods' addresses.
#pragma once

#include "controllers/mtls/readiness.h"
#include "controllers/settings.h"
#include "kube/plan.h"
#include "kube/views.h"
#include "ray/types.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace manta::controllers::mtls {

extern const kube::Resource kIssuers, kCertificates;  // cert-manager.io/v1

struct MtlsSeen {
  std::shared_ptr<const ray::RayCluster> cluster = {};
  // By name, whoever owns them.
  std::shared_ptr<const kube::MetaView> self_signed_issuer = {};
  std::shared_ptr<const kube::MetaView> ca_issuer = {};
  std::shared_ptr<const kube::SpecView> ca_certificate = {};
  std::shared_ptr<const kube::SecretView> ca_secret = {};
  LeavesSeen leaves = {};
  std::vector<std::shared_ptr<const kube::PodView>> pods = {};  // the cluster's, of all kinds
};

/// Does not validate the cluster: certificates are asked for early. Source: spec/02 §5.3.
kube::Plan plan(const MtlsSeen& seen, const Settings& settings, Time now);

}  // namespace manta::controllers::mtls
