// The RayCronJob controller: one pure function.
#pragma once

#include "controllers/settings.h"
#include "kube/plan.h"
#include "ray/types.h"

#include <functional>
#include <memory>
#include <vector>

namespace manta::controllers::raycronjob {

struct RayCronJobSeen {
  std::shared_ptr<const ray::RayCronJob> cron_job = {};
  /// Whether a RayJob of this name is there, whoever made it.
  std::function<bool(const kube::ObjectKey&)> has_job = {};
  std::vector<std::shared_ptr<const ray::RayJob>> children = {};  // the RayJobs it made
};

/// Makes the RayJob of the first tick that none was made for yet, then notes the tick; one tick a
/// plan. Names come from ticks, so a tick makes one RayJob however often it is tried. Source:
/// spec/04 §7.3. What our gates add: ticks.h, history.h.
kube::Plan plan(const RayCronJobSeen& seen, const Settings& settings,
                const kube::PlanContext& context);

}  // namespace manta::controllers::raycronjob
