#include "controllers/batchscheduler/gang.h"

#include "controllers/batchscheduler/coscheduling.h"
#include "controllers/batchscheduler/kubernetes_was.h"
#include "controllers/batchscheduler/volcano.h"
#include "ray/builders/scheduler_metadata.h"

#include <fmt/format.h>

namespace manta::controllers::batchscheduler {

using ray::BatchScheduler;

const kube::Resource kVolcanoPodGroups = {"scheduling.volcano.sh", "v1beta1", "podgroups",
                                          "PodGroup", true};
const kube::Resource kCoschedulingPodGroups = {"scheduling.x-k8s.io", "v1alpha1", "podgroups",
                                               "PodGroup", true};
const kube::Resource kWorkloads = {"scheduling.k8s.io", "v1alpha2", "workloads", "Workload", true};
const kube::Resource kPodGroups = {"scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup", true};

const kube::Resource* pod_groups_of(BatchScheduler scheduler) {
  switch (scheduler) {
    case BatchScheduler::None:
    case BatchScheduler::Yunikorn:
    case BatchScheduler::Kai:
      return nullptr;  // they group Pods by the Pods' own labels and annotations
    case BatchScheduler::Volcano:
      return &kVolcanoPodGroups;
    case BatchScheduler::SchedulerPlugins:
      return &kCoschedulingPodGroups;
    case BatchScheduler::KubernetesWas:
      return &kPodGroups;
  }
  return nullptr;
}

std::string pod_group_name(const kube::ObjectMeta& owner, std::string_view kind,
                           BatchScheduler scheduler) {
  if (scheduler == BatchScheduler::Volcano) return ray::volcano_pod_group_name(owner, kind);
  if (scheduler == BatchScheduler::KubernetesWas) return owner.key.name + "-cluster";
  return owner.key.name;
}

std::string owner_of_pod_group(std::string_view name, BatchScheduler scheduler) {
  std::string_view before;
  std::string_view after;
  if (scheduler == BatchScheduler::Volcano) {
    before = "ray-";
    after = "-pg";
  } else if (scheduler == BatchScheduler::KubernetesWas) {
    after = "-cluster";
  }
  if (name.size() <= before.size() + after.size()) return {};
  if (!name.starts_with(before) || !name.ends_with(after)) return {};
  name.remove_prefix(before.size());
  name.remove_suffix(after.size());
  return std::string(name);
}

GangDecision decide_gang(const ray::RayCluster& cluster, const GangSeen& seen,
                         const ray::BuildOptions& options) {
  switch (options.scheduler) {
    case BatchScheduler::Volcano:
      return decide_volcano(cluster, seen, options);
    case BatchScheduler::SchedulerPlugins:
      return decide_coscheduling(cluster, seen, options);
    case BatchScheduler::KubernetesWas:
      return decide_kubernetes_was(cluster, seen);
    case BatchScheduler::None:
    case BatchScheduler::Yunikorn:
    case BatchScheduler::Kai:
      break;
  }
  return {};
}

GangDecision decide_gang(const ray::RayJob& job, const GangSeen& seen,
                         const ray::BuildOptions& options) {
  // The others' gangs are made with the cluster.
  return options.scheduler == BatchScheduler::Volcano ? decide_volcano(job, seen, options)
                                                      : GangDecision{};
}

GangDecision release_gang(const ray::RayJob& job, const ray::RayCluster* cluster,
                          const GangSeen& seen, const ray::BuildOptions& options) {
  return options.scheduler == BatchScheduler::Volcano ? release_volcano(job, cluster, seen, options)
                                                      : GangDecision{};
}

}  // namespace manta::controllers::batchscheduler
