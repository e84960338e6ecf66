// Whether a cluster's certificates are there: Pods that mount them must not be made before, since
// Ray reads them once, at its start. Source: spec/02 §5.4.
#pragma once

#include "kube/views.h"
#include "ray/types.h"

#include <memory>
#include <string>

namespace manta::controllers::mtls {

/// What the caches show of the certificates that Pods mount, by name, whoever owns them.
struct LeavesSeen {
  std::shared_ptr<const kube::SpecView> head_certificate = {};
  std::shared_ptr<const kube::SpecView> worker_certificate = {};
  std::shared_ptr<const kube::SecretView> head_secret = {};
  std::shared_ptr<const kube::SecretView> worker_secret = {};
};

/// Issued for the spec that it has now.
bool is_issued(const kube::SpecView& certificate);
/// A certificate of an earlier cluster of this name does not count.
bool belongs_to(const kube::ObjectMeta& object, const ray::RayCluster& cluster);

/// Why the cluster's Pods cannot be made yet; empty when they can.
std::string why_not_ready(const ray::RayCluster& cluster, const LeavesSeen& seen);

}  // namespace manta::controllers::mtls
