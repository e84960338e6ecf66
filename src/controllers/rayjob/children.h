// The objects a RayJob makes and deletes, as writes with their events. Source: spec/04 §2.4, §5,
// §9.
#pragma once

#include "controllers/rayjob/draft.h"

namespace manta::controllers::rayjob {

/// True when the RayCluster is there. Otherwise its creation is planned, or, where it is the user's
/// to make, an event.
bool ensure_cluster(Draft& draft);

/// False when the batch scheduler cannot take such a RayJob: an event says why, nothing is made.
/// Source: spec/04 §2.9.
bool scheduler_takes(Draft& draft);

/// Plans the submitter Job unless it is there. False: it is planned, or cannot be built.
bool ensure_submitter(Draft& draft);

/// Plans the RayJob's head Service, or turns it to the current cluster. Nothing for a selected
/// cluster.
void ensure_head_service(Draft& draft);

/// The user's, which the job selects; or one that a status names which somebody edited: it is used,
/// never deleted.
bool is_anothers(const Draft& draft, const ray::RayCluster& cluster);
/// True when the RayCluster is gone (or is another's); otherwise its deletion is planned.
bool cluster_gone(Draft& draft);
/// True when the submitter Job is gone (or the mode has none); otherwise its deletion is planned.
bool submitter_gone(Draft& draft);

/// Sets `suspend` on every worker group of the cluster.
void suspend_workers(Draft& draft);
/// Deletes the RayJob itself.
void delete_self(Draft& draft);

/// Adds or removes our finalizer.
kube::Write finalizer_write(const ray::RayJob& job, bool present);

/// The status as a write of the status subresource.
kube::Write status_write(const ray::RayJob& job, const ray::RayJobStatus& status);

}  // namespace manta::controllers::rayjob
