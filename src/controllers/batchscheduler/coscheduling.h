// The coscheduling plugin of kubernetes-sigs/scheduler-plugins: a RayCluster that asks for a gang
// by label gets a PodGroup, which never changes. Source: spec/06 §7.
#pragma once

#include "controllers/batchscheduler/gang.h"

namespace manta::controllers::batchscheduler {

GangDecision decide_coscheduling(const ray::RayCluster& cluster, const GangSeen& seen,
                                 const ray::BuildOptions& options);

}  // namespace manta::controllers::batchscheduler
