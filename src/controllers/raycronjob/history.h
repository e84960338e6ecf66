// What becomes of the RayJobs that a RayCronJob made. Under gate RayCronJobPolicies, as a batch
// CronJob does it; without, they are only counted.
#pragma once

#include "controllers/raycronjob/plan.h"

#include <vector>

namespace manta::controllers::raycronjob {

using Children = std::vector<std::shared_ptr<const ray::RayJob>>;

/// Those that have not ended, and are not on their way out.
Children active_children(const Children& children);

/// Ended ones beyond the limits, oldest first. CJ-08
Children beyond_limits(const Children& children, const ray::RayCronJobSpec& spec);

/// How many have ended.
std::size_t ended_children(const Children& children);

/// Deletes one of them, with its event.
kube::Write delete_child(const ray::RayJob& child, std::string_view why);

}  // namespace manta::controllers::raycronjob
