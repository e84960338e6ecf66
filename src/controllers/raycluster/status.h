// The status of a RayCluster, computed from what the caches show.
#pragma once

#include "controllers/raycluster/conditions.h"
#include "controllers/raycluster/notes.h"
#include "controllers/raycluster/seen.h"

#include <optional>

namespace manta::controllers::raycluster {

struct StatusDecision {
  std::optional<Json> write = {};
  /// Of a cluster that starts nothing has changed but counts of Pods, or that its head has become
  /// ready, this very second: it is worth a write after so long, with whatever has become of them
  /// by then.
  std::optional<Duration> look_again = {};
};

/// The status to write, or nothing when no field that counts differs. Where what it is computed
/// from is contradictory (several heads, not exactly one head Service) it stays as it is but for
/// the notes, and with several heads the workers' counts. Source: spec/02 §6.
StatusDecision decide_status(const RayClusterSeen& seen, const Trouble& trouble, const Notes& notes,
                             const Settings& settings, Time now);

/// Of a cluster that is refused: what its Pods are is told all the same (SEEN-08), what is wanted
/// stays as it was when the spec was last valid.
StatusDecision decide_status_of_refused(const RayClusterSeen& seen, const Notes& notes,
                                        const Settings& settings, Time now);

/// Whether two statuses differ in a field that is worth a write. Source: spec/02 §6.5.
bool differs(const ray::RayClusterStatus& a, const ray::RayClusterStatus& b);

}  // namespace manta::controllers::raycluster
