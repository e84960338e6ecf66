// What batch schedulers want to see on Pods, Pod templates and clusters. Applied last, so it
// overwrites. Source: spec/06, spec/03 §9.8.
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <string_view>

namespace manta::ray {

/// `pod`: a Pod, or an object with its metadata and spec (a Pod template). `group` is the worker
/// group's name, "headgroup" or "submittergroup".
void add_scheduler_metadata(Json& pod, const RayCluster& parent, std::string_view group,
                            const BuildOptions& options);
void add_scheduler_metadata(Json& pod_template, const RayJob& parent, std::string_view group,
                            const BuildOptions& options);
/// On the RayCluster that a RayJob makes (K8sJobMode only, which the caller decides).
void add_scheduler_metadata_to_cluster(Json& cluster, const RayJob& parent,
                                       const BuildOptions& options);

/// "ray-<name>-pg": a RayJob's cluster shares the RayJob's PodGroup.
std::string volcano_pod_group_name(const kube::ObjectMeta& owner, std::string_view kind);
/// By label, of any value but "false": upstream looks at its presence alone. SEEN-22
bool asks_for_gang(const kube::ObjectMeta& meta);
/// Kubernetes' own gang scheduling: opted in by label, and no in-tree autoscaling.
bool wants_kubernetes_gang(const RayCluster& cluster);

}  // namespace manta::ray
