// The RayCluster controller: one pure function.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

namespace manta::controllers::raycluster {

/// What to do about one RayCluster. Empty when it is settled or somebody else's. Source: spec/02
/// §2.
kube::Plan plan(const RayClusterSeen& seen, const Settings& settings,
                const kube::PlanContext& context);

}  // namespace manta::controllers::raycluster
