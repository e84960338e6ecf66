#include "controllers/raycronjob/ticks.h"

namespace manta::controllers::raycronjob {

std::optional<Due> latest_tick(const ray::CronSchedule& schedule, const ray::ZoneOffset& zone,
                               Time base, Time now) {
  constexpr int kMostCounted = 10'000;
  std::optional<Due> due;
  for (auto tick = schedule.next(base, zone); tick && *tick <= now;
       tick = schedule.next(*tick, zone)) {
    due = Due{*tick, due ? due->missed + 1 : 0};
    if (due->missed < kMostCounted) continue;
    // So many were missed that nobody needs their number: look back an hour at most.
    using std::chrono::hours;
    if (now - *tick > hours{1})
      if (const auto late = schedule.next(now - hours{1}, zone); late && *late <= now)
        due->tick = *late;
  }
  return due;
}

}  // namespace manta::controllers::raycronjob
