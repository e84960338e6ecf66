// The writes of Pods: head, worker groups, and all of them at once. Source: spec/02 §3, §4, §7, §9.
#pragma once

#include "controllers/raycluster/head_pod.h"
#include "controllers/raycluster/seen.h"
#include "controllers/raycluster/worker_group.h"
#include "controllers/settings.h"
#include "kube/plan.h"

#include <optional>
#include <vector>

namespace manta::controllers::raycluster {

/// The lane of a group's writes: one group's failure delays no other.
std::string group_lane(std::string_view group);
inline constexpr std::string_view kHeadLane = "head";
inline constexpr std::string_view kAllPodsLane = "all-pods";

/// Creates or deletes the head, as decided; nothing otherwise.
kube::Stage head_writes(const RayClusterSeen& seen, const HeadDecision& head,
                        const Settings& settings);

/// Every worker group's writes. `now` goes into the names of new multi-host replicas;
/// `next_attempt` becomes the time at which one that has ended may be replaced, if one waits.
kube::Stage group_writes(const RayClusterSeen& seen, const Settings& settings, Time now,
                         std::optional<Time>& next_attempt);

/// Those of suspended groups alone, which need no head to go.
kube::Stage sleeping_group_writes(const RayClusterSeen& seen);

/// One call that deletes every Pod with these labels; nothing when all of `pods` are going already.
/// Where somebody else's Pods carry them, too, `pods` go one by one. RC-44. `as` says lane, marker,
/// events and why.
kube::Stage delete_all(const RayClusterSeen& seen, const Pods& pods, std::string selector,
                       kube::Write as);

/// The labels that the cache of Ray's Pods selects by: what it does not hold, no one call may
/// delete.
inline constexpr std::string_view kRayPods = "ray.io/node-type in (head,redis-cleanup,worker)";

/// The selector of all of a cluster's Pods.
std::string all_pods_selector(const RayClusterSeen& seen);

}  // namespace manta::controllers::raycluster
