// The status of a RayCluster, computed from what the caches show.
#pragma once

#include "controllers/raycluster/conditions.h"
#include "controllers/raycluster/notes.h"
#include "controllers/raycluster/seen.h"

#include <optional>

namespace manta::controllers::raycluster {

/// The status to write, as JSON, or nothing when no field that counts differs. Where what it is
/// computed from is contradictory (several heads, not exactly one head Service) it stays as it is
/// but for the notes. Source: spec/02 §6.
std::optional<Json> decide_status(const RayClusterSeen& seen, const Trouble& trouble,
                                  const Notes& notes, const Settings& settings, Time now);

/// Of a cluster that is refused: what its Pods are is told all the same (SEEN-08), what is wanted
/// stays as it was when the spec was last valid.
std::optional<Json> decide_status_of_refused(const RayClusterSeen& seen, const Notes& notes,
                                             const Settings& settings, Time now);

/// Whether two statuses differ in a field that is worth a write. Source: spec/02 §6.5.
bool differs(const ray::RayClusterStatus& a, const ray::RayClusterStatus& b);

}  // namespace manta::controllers::raycluster
