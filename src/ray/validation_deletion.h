// Checks of a RayJob's deletion strategy. Source: spec/01 §6.2, 4.
#pragma once

#include "ray/validation.h"
#include "ray/validation_pod.h"

namespace manta::ray {

Fault check_deletion_strategy(const RayJobSpec& spec, const ValidationGates& gates);

}  // namespace manta::ray
