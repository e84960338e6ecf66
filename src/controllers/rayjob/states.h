// One handler a state of status.jobDeploymentStatus. Each fills in a Draft; plan.cc adds what all
// have in common. Source: spec/04 §2.1.
#pragma once

#include "controllers/rayjob/draft.h"

namespace manta::controllers::rayjob {

void plan_new(Draft& draft);
void plan_initializing(Draft& draft);
void plan_waiting(Draft& draft);
void plan_running(Draft& draft);
/// Suspending and Retrying.
void plan_teardown(Draft& draft);
void plan_suspended(Draft& draft);
/// Complete and Failed: what is to be deleted, and when. Source: spec/04 §4.
void plan_cleanup(Draft& draft);

}  // namespace manta::controllers::rayjob
