// The RayJob controller: one pure function.
#pragma once

#include "controllers/rayjob/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

namespace manta::controllers::rayjob {

/// What to do about one RayJob. Empty when it is settled or somebody else's. Source: spec/04 §1,
/// §2.
kube::Plan plan(const RayJobSeen& seen, const Settings& settings, const kube::PlanContext& context);

}  // namespace manta::controllers::rayjob
