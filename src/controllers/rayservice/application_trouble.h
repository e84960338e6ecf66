// What Ray Serve cannot bring up, in its own words, where people look first.
#pragma once

#include "controllers/rayservice/draft.h"

namespace manta::controllers::rayservice {

/// Names the applications of the draft's status that have failed to deploy or are unhealthy in
/// what is waited for; and, when Serve says why, once in an event.
void tell_trouble(Draft& draft);

}  // namespace manta::controllers::rayservice
