// Kubernetes' own workload-aware scheduling: a Workload and a PodGroup for a RayCluster that asks
// for a gang and has no autoscaler. Both are immutable, so a gang of another size takes new ones:
// the PodGroup goes first, then the Workload, then both are made again, and Pods wait for that.
// Source: spec/06 §6.
#pragma once

#include "controllers/batchscheduler/gang.h"

namespace manta::controllers::batchscheduler {

GangDecision decide_kubernetes_was(const ray::RayCluster& cluster, const GangSeen& seen);

}  // namespace manta::controllers::batchscheduler
