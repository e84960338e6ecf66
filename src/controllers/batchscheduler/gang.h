// The objects by which a batch scheduler starts all Pods of a cluster together or none: what has to
// be there before the Pods. What goes on the Pods themselves: ray/builders/scheduler_metadata.h.
//
//   auto gang = decide_gang(cluster, seen.gang, settings.build);
//   if (!gang.blocked.empty()) …   // make no Pods yet
//
// Source: spec/06.
#pragma once

#include "kube/plan.h"
#include "kube/views.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace manta::controllers::batchscheduler {

extern const kube::Resource kVolcanoPodGroups;       // scheduling.volcano.sh
extern const kube::Resource kCoschedulingPodGroups;  // scheduling.x-k8s.io
extern const kube::Resource kWorkloads;              // scheduling.k8s.io
extern const kube::Resource kPodGroups;              // scheduling.k8s.io

/// The kind of PodGroup that this scheduler reads; null when it reads none.
const kube::Resource* pod_groups_of(ray::BatchScheduler scheduler);

/// What the PodGroup of a RayCluster or RayJob is called.
std::string pod_group_name(const kube::ObjectMeta& owner, std::string_view kind,
                           ray::BatchScheduler scheduler);
/// The other way round, for watches: whose PodGroup of that name may be; empty when nobody's.
std::string owner_of_pod_group(std::string_view name, ray::BatchScheduler scheduler);

/// What the caches show: the objects of the names above, whoever owns them.
struct GangSeen {
  std::shared_ptr<const kube::SpecView> pod_group = {};
  std::shared_ptr<const kube::SpecView> workload = {};  // Kubernetes' own scheduler only
};

struct GangDecision {
  std::vector<kube::Stage> stages = {};
  std::vector<kube::EventNote> events = {};
  /// Set: no Pod may be made until the cause has gone, which a watch will tell.
  std::string blocked = {};
};

/// The lane of all its writes.
inline constexpr std::string_view kGangLane = "gang";

/// What a cluster's Pods need before them. Nothing for schedulers without objects of their own.
GangDecision decide_gang(const ray::RayCluster& cluster, const GangSeen& seen,
                         const ray::BuildOptions& options);
/// What a RayJob needs before its cluster.
GangDecision decide_gang(const ray::RayJob& job, const GangSeen& seen,
                         const ray::BuildOptions& options);
/// A suspended or finished RayJob gives back what its cluster (null: gone) holds no more.
GangDecision release_gang(const ray::RayJob& job, const ray::RayCluster* cluster,
                          const GangSeen& seen, const ray::BuildOptions& options);

}  // namespace manta::controllers::batchscheduler
