// The RayService controller: one pure function.
#pragma once

#include "controllers/rayservice/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

namespace manta::controllers::rayservice {

/// What to do about one RayService. Empty when it is settled or somebody else's. Source: spec/05
/// §3.
kube::Plan plan(const RayServiceSeen& seen, const Settings& settings,
                const kube::PlanContext& context);

}  // namespace manta::controllers::rayservice
