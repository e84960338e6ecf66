// Suspension: everything is deleted, and made anew when the user resumes. Source: spec/05 §7.
#pragma once

#include "controllers/rayservice/draft.h"

namespace manta::controllers::rayservice {

/// True when that is all there is to do. Otherwise the pass goes on, possibly as one that has just
/// been resumed.
bool plan_suspension(Draft& draft);

}  // namespace manta::controllers::rayservice
