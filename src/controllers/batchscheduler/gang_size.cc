#include "controllers/batchscheduler/gang_size.h"

namespace manta::controllers::batchscheduler {

GangSize whole_gang(const ray::RayClusterSpec& spec) {
  GangSize size{.members = 1 + std::int64_t{ray::desired_worker_pods(spec)},
                .resources = ray::pod_resources(spec.headGroupSpec.template_)};
  for (const auto& group : spec.workerGroupSpecs)
    if (const auto pods = ray::desired_pods(group); pods != 0)
      ray::add_resources(size.resources, ray::pod_resources(group.template_), pods);
  return size;
}

GangSize least_gang(const ray::RayClusterSpec& spec) {
  return {.members = 1 + std::int64_t{ray::min_worker_pods(spec)},
          .resources = ray::min_resources(spec)};
}

}  // namespace manta::controllers::batchscheduler
