#include "controllers/batchscheduler/gang_size.h"

#include "ray/builders/pod.h"

namespace manta::controllers::batchscheduler {
namespace {

using ray::WorkerGroupSpec;

ray::ResourceList head_resources(const ray::RayCluster& cluster, const ray::BuildOptions& options) {
  if (!options.scheduled_resources) return ray::pod_resources(cluster.spec.headGroupSpec.template_);
  return ray::scheduled_pod_resources(ray::build_head_pod(cluster, options));
}

ray::ResourceList worker_resources(const ray::RayCluster& cluster, const WorkerGroupSpec& group,
                                   const ray::BuildOptions& options) {
  if (!options.scheduled_resources) return ray::pod_resources(group.template_);
  return ray::scheduled_pod_resources(ray::build_worker_pod(cluster, group, {}, options));
}

ray::ResourceList resources_of(const ray::RayCluster& cluster, const ray::BuildOptions& options,
                               std::int64_t (*pods_of)(const WorkerGroupSpec&)) {
  auto total = head_resources(cluster, options);
  for (const auto& group : cluster.spec.workerGroupSpecs)
    if (const auto pods = pods_of(group); pods != 0)
      ray::add_resources(total, worker_resources(cluster, group, options), pods);
  return total;
}

}  // namespace

GangSize whole_gang(const ray::RayCluster& cluster, const ray::BuildOptions& options) {
  return {.members = 1 + std::int64_t{ray::desired_worker_pods(cluster.spec)},
          .resources = resources_of(cluster, options, [](const WorkerGroupSpec& group) {
            return std::int64_t{ray::desired_pods(group)};
          })};
}

GangSize least_gang(const ray::RayCluster& cluster, const ray::BuildOptions& options) {
  return {.members = 1 + std::int64_t{ray::min_worker_pods(cluster.spec)},
          .resources = resources_of(cluster, options, ray::min_pods)};
}

}  // namespace manta::controllers::batchscheduler
