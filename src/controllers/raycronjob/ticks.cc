#include "controllers/raycronjob/ticks.h"

#include <algorithm>

namespace manta::controllers::raycronjob {

std::optional<Due> latest_tick(const ray::CronSchedule& schedule, const ray::ZoneOffset& zone,
                               Time base, Time now) {
  constexpr int kMostCounted = 10'000;
  constexpr std::chrono::hours kLookBack{1};
  std::optional<Due> due;
  for (auto tick = schedule.next(base, zone); tick && *tick <= now;
       tick = schedule.next(*tick, zone)) {
    due = Due{*tick, due ? std::min(due->missed + 1, kMostCounted) : 0};
    if (due->missed < kMostCounted || now - *tick <= kLookBack) continue;
    // So many were missed that nobody needs their number: on with the last hour's.
    if (const auto late = schedule.next(now - kLookBack, zone); late && *late <= now)
      due->tick = *(tick = late);
  }
  return due;
}

}  // namespace manta::controllers::raycronjob
