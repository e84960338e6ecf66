// What every state has in common: counting attempts, and whether the status is worth a write.
#pragma once

#include "ray/types.h"

namespace manta::controllers::rayjob {

/// Counts a finished attempt, and turns a failure that may be tried again into Retrying. Source:
/// spec/04 §2.5.
void count_attempt(ray::RayJobStatus& status, const ray::RayJobSpec& spec);

/// Source: spec/04 §2.2; reasons, counters and (but for what keeps it from starting) messages alone
/// are not.
bool worth_writing(const ray::RayJobStatus& before, const ray::RayJobStatus& after);

}  // namespace manta::controllers::rayjob
