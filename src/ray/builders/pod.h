// Ray Pods, from a cluster's spec. The user's template is copied and added to; what it holds
// besides stays as it is. Source: spec/03 §3, §4 (the order of steps decides the order of env and
// volumes).
//
//   Json head = build_head_pod(cluster, options);
//   Json worker = build_worker_pod(cluster, group, {.replica_index = 0}, options);
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <cstdint>
#include <string>

namespace manta::ray {

/// To create: metadata.generateName, or a name where options or the user say so.
Json build_head_pod(const RayCluster& cluster, const BuildOptions& options);

/// Which of a group's Pods.
struct WorkerSlot {
  std::int32_t replica_index = 0;
  /// Only of groups with several hosts a replica: what its Pods have in common, and which host.
  std::string replica_name = {};
  std::int32_t host_index = 0;
};
Json build_worker_pod(const RayCluster& cluster, const WorkerGroupSpec& group,
                      const WorkerSlot& slot, const BuildOptions& options);

/// The head Pod that the Redis clean-up Job starts from: without hash and version annotations.
Json build_head_pod_for_cleanup(const RayCluster& cluster, const BuildOptions& options);

}  // namespace manta::ray
