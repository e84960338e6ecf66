// How large a gang is: how many Pods start together, and what they ask of the machines.
#pragma once

#include "ray/builders/options.h"
#include "ray/builders/resources.h"
#include "ray/types.h"

#include <cstdint>

namespace manta::controllers::batchscheduler {

struct GangSize {
  std::int64_t members = 0;
  ray::ResourceList resources = {};
};

/// The head and every worker that is wanted now. SEEN-21: resources are those of exactly these
/// Pods, where upstream takes `replicas` as written. A Pod's are those of the containers that its
/// user wrote; with `options.scheduled_resources` what a scheduler will count for it once it is
/// built, what the operator adds included. RC-35
GangSize whole_gang(const ray::RayCluster& cluster, const ray::BuildOptions& options);
/// The head and the fewest workers that the autoscaler may leave.
GangSize least_gang(const ray::RayCluster& cluster, const ray::BuildOptions& options);

}  // namespace manta::controllers::batchscheduler
