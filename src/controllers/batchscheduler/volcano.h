// Volcano: one PodGroup a RayCluster, or a RayJob with its cluster. No label has to ask for it.
// Source: spec/06 §4.
#pragma once

#include "controllers/batchscheduler/gang.h"

namespace manta::controllers::batchscheduler {

GangDecision decide_volcano(const ray::RayCluster& cluster, const GangSeen& seen,
                            const ray::BuildOptions& options);
GangDecision decide_volcano(const ray::RayJob& job, const GangSeen& seen,
                            const ray::BuildOptions& options);
GangDecision release_volcano(const ray::RayJob& job, const ray::RayCluster* cluster,
                             const GangSeen& seen, const ray::BuildOptions& options);

}  // namespace manta::controllers::batchscheduler
