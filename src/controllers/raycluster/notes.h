// Conditions of our own: what users ought to know and KubeRay does not say. Each is there, with
// status True, only while its cause is.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::controllers::raycluster {

struct Note {
  std::string_view type = {};
  std::string_view reason = {};
  std::string message = {};
};
using Notes = std::vector<Note>;

// Types.
inline constexpr std::string_view kInvalidSpec = "InvalidSpec";                    // RC-13, RC-16
inline constexpr std::string_view kNameConflict = "NameConflict";                  // RC-26, RC-27
inline constexpr std::string_view kOrphanedWorkerGroup = "OrphanedWorkerGroup";    // RC-12, SEEN-01
inline constexpr std::string_view kForeignPods = "ForeignPods";                    // RC-44
inline constexpr std::string_view kHeadTerminating = "HeadTerminating";            // RC-06
inline constexpr std::string_view kMultipleHeads = "MultipleHeads";                // RC-44
inline constexpr std::string_view kWorkersBeyondMaximum = "WorkersBeyondMaximum";  // AS-04
// Each behind its gate.
inline constexpr std::string_view kQuotaExceeded = "QuotaExceeded";  // AS-07
/// Its reason, and how the trouble of a Pod begins that is held back: with that gate only.
inline constexpr std::string_view kSchedulingGated = "SchedulingGated";
inline constexpr std::string_view kWorkersFailing = "WorkersFailing";        // RC-10
inline constexpr std::string_view kHeadServiceDrift = "HeadServiceDrift";    // RC-23
inline constexpr std::string_view kReplicasContested = "ReplicasContested";  // AS-01

/// What the caches show, and which writes fail of those that are still wanted.
Notes notes_about(const RayClusterSeen& seen, const Settings& settings,
                  const kube::PlanContext& context);

/// When a head that is going now becomes worth a note: its deletion is overdue then. Nothing: none
/// is going, or the note is due.
std::optional<Duration> until_head_is_overdue(const RayClusterSeen& seen, Time now);

/// What is to be said of more than one head; empty: there is none, or one.
std::string several_heads(const RayClusterSeen& seen);

/// Workers whose group is no longer in the spec.
Pods orphaned_workers(const RayClusterSeen& seen);
/// Those that live and that the spec asks for. On a lost node Pods that are going stay for ever,
/// RC-05, and so do those of a removed group, SEEN-01.
Pods expected_pods(const RayClusterSeen& seen);

/// Sets these conditions and removes the other types of above.
void set_notes(std::vector<ray::Condition>& conditions, const Notes& notes, std::int64_t generation,
               Time now);

}  // namespace manta::controllers::raycluster
