// The batch scheduler's part in a RayJob's life: its gang is there before the cluster, and gives
// back what the cluster holds no more. Source: spec/06 §2, spec/04 §2.9.
#pragma once

#include "controllers/rayjob/draft.h"

namespace manta::controllers::rayjob {

/// False when something that is not ours to put right keeps the gang from being what the cluster
/// needs; the status says what.
bool gang_ready(Draft& draft);

/// True when nothing is left to give back; otherwise that is planned.
bool gang_released(Draft& draft);

}  // namespace manta::controllers::rayjob
