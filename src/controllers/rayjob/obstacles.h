// Why a RayJob does not run yet, in the words of whoever stands in its way.
#pragma once

#include "controllers/rayjob/draft.h"

#include <string>

namespace manta::controllers::rayjob {

/// What the API server said to our writes, what the scheduler and the nodes say of the cluster's
/// Pods (image pull, no room, a failed init container), what the RayCluster says of Pods that were
/// refused (quota). Empty: nobody complains. For status.message while Initializing.
std::string find_obstacle(const Draft& draft);

/// Says in the conditions what keeps the submitter's Pod from submitting, until Ray knows the job.
void note_submitter_trouble(Draft& draft);

/// Says in the conditions when a name that the RayJob needs belongs to another object. RJ-09
void note_name_conflict(Draft& draft);

}  // namespace manta::controllers::rayjob
