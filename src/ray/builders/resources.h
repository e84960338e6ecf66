// How many Pods a cluster asks for, and what they ask of the machines: the numbers in status and in
// gang scheduling. Only what users wrote counts, not what the builders add. Source: spec/03 §7.
#pragma once

#include "base/json.h"
#include "base/quantity.h"
#include "ray/types.h"

#include <cstdint>
#include <map>
#include <string>

namespace manta::ray {

/// Replicas (not Pods) a group should have: `replicas` within [min, max]; min where it is absent or
/// below min, also when min is above max. 0 when suspended.
std::int32_t desired_replicas(const WorkerGroupSpec& group);
/// Pods: desired_replicas × numOfHosts, saturating.
std::int32_t desired_pods(const WorkerGroupSpec& group);
/// Pods that stay however idle they are: minReplicas × numOfHosts; 0 when suspended.
std::int64_t min_pods(const WorkerGroupSpec& group);
/// Pods at most: maxReplicas × numOfHosts; an absent maxReplicas is the largest number there is.
std::int64_t max_pods(const WorkerGroupSpec& group);

/// Over all groups that are not suspended, in Pods, saturating.
std::int32_t desired_worker_pods(const RayClusterSpec& spec);
std::int32_t min_worker_pods(const RayClusterSpec& spec);
std::int32_t max_worker_pods(const RayClusterSpec& spec);

using ResourceList = std::map<std::string, Quantity, std::less<>>;

/// Requests of the containers, limits where a resource has no request. Quantities that cannot be
/// read are skipped.
ResourceList pod_resources(const Json& pod_template);
/// Head, and every group's Pod × numOfHosts × `replicas` as written (not clamped; absent is 0).
ResourceList desired_resources(const RayClusterSpec& spec);
/// The same by what a scheduler counts for each Pod. RC-35, behind its gate.
ResourceList scheduled_resources(const RayClusterSpec& spec);
/// What a scheduler counts for a Pod: containers and sidecars together, or at some moment of its
/// start an init container beside the sidecars before it, whichever is more; and the overhead.
ResourceList scheduled_pod_resources(const Json& pod_template);

void add_resources(ResourceList& total, const ResourceList& part, std::int64_t times = 1);
/// Zero when the list has none.
Quantity amount_of(const ResourceList& list, std::string_view name);
/// The sum over all names that Ray counts as GPUs.
Quantity gpus_of(const ResourceList& list);
/// {"cpu": "2", …}, sorted by name.
Json json_of(const ResourceList& list);

}  // namespace manta::ray
