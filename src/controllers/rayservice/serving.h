// A RayService that is neither suspended nor deleted: the world is looked at, the rollout decided
// (rollout.h), and its decision turned into writes and status. Source: spec/05 §3, steps 9–17.
#pragma once

#include "controllers/rayservice/draft.h"

namespace manta::controllers::rayservice {

void plan_serving(Draft& draft);

}  // namespace manta::controllers::rayservice
