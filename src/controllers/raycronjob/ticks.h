// Which tick of a schedule is due.
#pragma once

#include "ray/cron.h"

#include <optional>

namespace manta::controllers::raycronjob {

struct Due {
  Time tick = {};
  int missed = 0;  // ticks that were passed over for it
};

/// The latest tick in (base, now], or nothing. Counts up to 10,000 passed over.
std::optional<Due> latest_tick(const ray::CronSchedule& schedule, const ray::ZoneOffset& zone,
                               Time base, Time now);

}  // namespace manta::controllers::raycronjob
