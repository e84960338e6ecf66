// NetworkPolicies that close a cluster off, one for the head and one a worker group.
// Source: spec/03 §9.4.
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <vector>

namespace manta::ray {

/// None without spec.networkPolicy. The head's comes first.
std::vector<Json> build_network_policies(const RayCluster& cluster);

}  // namespace manta::ray
