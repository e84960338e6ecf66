// Checks of the optional features. Source: spec/01 §6.1 B.9-17.
#pragma once

#include "ray/validation.h"
#include "ray/validation_pod.h"

namespace manta::ray {

Fault check_autoscaler(const RayClusterSpec& spec, const ValidationGates& gates);      // B.9-13
Fault check_history_server(const RayClusterSpec& spec, const ValidationGates& gates);  // B.14
Fault check_auth(const RayClusterSpec& spec);                                          // B.15
Fault check_network_policy(const RayClusterSpec& spec, const ValidationGates& gates);  // B.16
Fault check_tls(const RayClusterSpec& spec, const ValidationGates& gates);             // B.17

}  // namespace manta::ray
