// Cron schedules as RayCronJob takes them: five fields, or a descriptor such as @hourly.
//
//   auto schedule = CronSchedule::parse("*/5 9-17 * * mon-fri");
//   auto due = schedule->next(now, [](Time) { return std::chrono::seconds{0}; });  // UTC
#pragma once

#include "base/result.h"
#include "base/time.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace manta::ray {

/// A time zone: seconds east of UTC at an instant.
using ZoneOffset = std::function<std::chrono::seconds(Time)>;

class CronSchedule {
 public:
  /// Grammar and messages: spec/01 §6.5 (robfig/cron's "standard" parser).
  static Result<CronSchedule> parse(std::string_view text);

  /// The first instant after `after` that the schedule names, in whole minutes of the zone's clock
  /// (@every: seconds); nothing when there is none within five years (30 February). Local times
  /// that a change of clocks skips are skipped, those that it repeats come twice, as in
  /// robfig/cron.
  std::optional<Time> next(Time after, const ZoneOffset& zone) const;

 private:
  struct Field {
    std::uint64_t bits = 0;  // bit n: the value n is named
    bool star = false;       // a bare * or ?
    bool has(unsigned value) const { return (bits >> value & 1) != 0; }
  };
  friend class CronParser;

  bool day_matches(std::chrono::year_month_day date) const;

  Field minute_ = {}, hour_ = {}, day_of_month_ = {}, month_ = {}, day_of_week_ = {};
  std::chrono::seconds every_ = {};  // of @every; otherwise zero
};

}  // namespace manta::ray
