// The status of a RayCluster, computed from what the caches show.
#pragma once

#include "controllers/raycluster/conditions.h"
#include "controllers/raycluster/seen.h"

#include <optional>

namespace manta::controllers::raycluster {

/// The status to write, or nothing: when no field that counts differs, or when what it is computed
/// from is contradictory (several heads, not exactly one head Service), which freezes it.
/// Source: spec/02 §6.
std::optional<ray::RayClusterStatus> decide_status(const RayClusterSeen& seen,
                                                   const Trouble& trouble, const Settings& settings,
                                                   Time now);

/// Whether two statuses differ in a field that is worth a write. Source: spec/02 §6.5.
bool differs(const ray::RayClusterStatus& a, const ray::RayClusterStatus& b);

}  // namespace manta::controllers::raycluster
