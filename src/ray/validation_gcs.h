// Checks of GCS fault tolerance. Source: spec/01 §6.1 B.5-8.
#pragma once

#include "ray/validation.h"
#include "ray/validation_pod.h"

namespace manta::ray {

Fault check_gcs_fault_tolerance(const RayClusterSpec& spec, const StringMap& annotations,
                                const ValidationGates& gates);

}  // namespace manta::ray
