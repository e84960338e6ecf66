#include "ray/cron.h"

#include "base/text.h"
#include "ray/name_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

namespace manta::ray {
namespace {

using namespace std::chrono;

struct Bounds {
  unsigned min, max;
  std::string_view names = {};  // three letters each, from min on
};
constexpr Bounds kMinute{0, 59}, kHour{0, 23}, kDayOfMonth{1, 31},
    kMonth{1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    kDayOfWeek{0, 6, "sunmontuewedthufrisat"};

std::vector<std::string_view> split(std::string_view text, std::string_view separators,
                                    bool keep_empty) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find_first_of(separators);
    if (keep_empty || end != 0)
      if (const auto part = text.substr(0, end); keep_empty || !part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::unexpected<Error> bad(std::string message) {
  return failed(ErrorCode::Invalid, std::move(message));
}

Result<unsigned> parse_number(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = end == digits.data() + digits.size() && !digits.empty();
  if (code == std::errc::result_out_of_range && whole)
    return bad(
        fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: value out of "
                    "range",
                    text, go_quote(text)));
  if (code != std::errc{} || !whole || (text.starts_with('+') && digits.starts_with('-')))
    return bad(fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: invalid syntax",
                           text, go_quote(text)));
  if (value < 0) return bad(fmt::format("negative number ({}) not allowed: {}", value, text));
  return static_cast<unsigned>(value);
}

Result<unsigned> parse_value(std::string_view text, const Bounds& bounds) {
  const auto name = lower_case(text);
  if (name.size() == 3)
    for (std::size_t i = 0; i + 3 <= bounds.names.size(); i += 3)
      if (bounds.names.substr(i, 3) == name) return bounds.min + static_cast<unsigned>(i / 3);
  return parse_number(text);
}

sys_days days_of(local_days days) { return sys_days(days.time_since_epoch()); }

// The instant of a local time. Near a change of clocks the guess may lie on the other side of it,
// so it is checked once (as Go's time.Date does).
Time instant_of(local_seconds local, const ZoneOffset& zone) {
  const Time as_utc{local.time_since_epoch()};
  const seconds guess = zone(as_utc);
  const seconds offset = zone(as_utc - guess);
  return as_utc - offset;
}

local_seconds local_of(Time time, const ZoneOffset& zone) {
  return local_seconds(floor<seconds>(time.time_since_epoch()) + zone(time));
}

}  // namespace

/// Reads fields; a friend of CronSchedule.
class CronParser {
 public:
  using Field = CronSchedule::Field;

  static Result<Field> field(std::string_view text, const Bounds& bounds) {
    Field field;
    for (const auto item : split(text, ",", false))
      if (auto ok = range(field, item, bounds); !ok) return failed(ok.error());
    return field;
  }

  static Result<CronSchedule> fields(std::string_view text) {
    const auto parts = split(text, " \t\n\v\f\r", false);
    if (parts.size() != 5)
      return bad(fmt::format("expected exactly 5 fields, found {}: [{}]", parts.size(),
                             fmt::join(parts, " ")));
    CronSchedule schedule;
    const std::pair<Field CronSchedule::*, const Bounds&> order[] = {
        {&CronSchedule::minute_, kMinute},
        {&CronSchedule::hour_, kHour},
        {&CronSchedule::day_of_month_, kDayOfMonth},
        {&CronSchedule::month_, kMonth},
        {&CronSchedule::day_of_week_, kDayOfWeek}};
    for (std::size_t i = 0; i < std::size(order); ++i) {
      auto parsed = field(parts[i], order[i].second);
      if (!parsed) return failed(parsed.error());
      schedule.*order[i].first = *parsed;
    }
    return schedule;
  }

  static Result<CronSchedule> descriptor(std::string_view text) {
    static constexpr std::pair<std::string_view, std::string_view> kNamed[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"}};
    for (const auto& [name, meaning] : kNamed)
      if (text == name) return fields(meaning);
    static constexpr std::string_view kEvery = "@every ";
    if (!text.starts_with(kEvery)) return bad(fmt::format("unrecognized descriptor: {}", text));
    const auto duration = parse_go_duration(text.substr(kEvery.size()));
    if (!duration)
      return bad(fmt::format("failed to parse duration {}: {}", text, duration.error().message));
    CronSchedule schedule;
    schedule.every_ = std::max(seconds{1}, floor<seconds>(*duration));
    return schedule;
  }

 private:
  // *|?|N|N-M, then /step
  static Result<void> range(Field& field, std::string_view item, const Bounds& bounds) {
    const auto and_step = split(item, "/", true);
    const auto ends = split(and_step[0], "-", true);
    const bool star = ends[0] == "*" || ends[0] == "?";
    unsigned low = bounds.min, high = bounds.max, step = 1;
    if (!star) {
      const auto first = parse_value(ends[0], bounds);
      if (!first) return failed(first.error());
      low = high = *first;
      if (ends.size() > 2) return bad(fmt::format("too many hyphens: {}", item));
      if (ends.size() == 2) {
        const auto last = parse_value(ends[1], bounds);
        if (!last) return failed(last.error());
        high = *last;
      }
    }
    if (and_step.size() > 2) return bad(fmt::format("too many slashes: {}", item));
    if (and_step.size() == 2) {
      const auto number = parse_number(and_step[1]);
      if (!number) return failed(number.error());
      step = *number;
      if (!star && ends.size() == 1) high = bounds.max;  // N/step goes to the end
    }
    if (low < bounds.min)
      return bad(
          fmt::format("beginning of range ({}) below minimum ({}): {}", low, bounds.min, item));
    if (high > bounds.max)
      return bad(fmt::format("end of range ({}) above maximum ({}): {}", high, bounds.max, item));
    if (low > high)
      return bad(
          fmt::format("beginning of range ({}) beyond end of range ({}): {}", low, high, item));
    if (step == 0) return bad(fmt::format("step of range should be a positive number: {}", item));
    for (std::uint64_t value = low; value <= high; value += step) field.bits |= 1ull << value;
    if (star && step == 1) field.star = true;
    return {};
  }
};

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
  if (text.empty()) return bad("empty spec string");
  return text.front() == '@' ? CronParser::descriptor(text) : CronParser::fields(text);
}

bool CronSchedule::day_matches(year_month_day date) const {
  const bool of_month = day_of_month_.has(unsigned(date.day()));
  const bool of_week = day_of_week_.has(weekday(sys_days(date)).c_encoding());
  // Two restricted day fields widen each other; a star leaves the decision to the other one.
  return day_of_month_.star || day_of_week_.star ? of_month && of_week : of_month || of_week;
}

std::optional<Time> CronSchedule::next(Time after, const ZoneOffset& zone) const {
  if (every_ > seconds{0}) return floor<seconds>(after) + every_;
  // Steps are real time, read on the zone's clock at each: an hour that is skipped is never seen,
  // one that is repeated is seen twice.
  Time t = floor<seconds>(after);
  t += minutes{1} - (local_of(t, zone) - floor<minutes>(local_of(t, zone)));
  const year last_year = year_month_day(days_of(floor<days>(local_of(t, zone)))).year() + years{5};
  while (true) {
    const local_seconds local = local_of(t, zone);
    const local_days day = floor<days>(local);
    const year_month_day date(days_of(day));
    const hh_mm_ss clock(local - day);
    if (date.year() > last_year) return std::nullopt;
    if (!month_.has(unsigned(date.month())) || !day_matches(date)) {
      // Where the clock skips midnight, its instant may read as the day before.
      t = std::max(instant_of(day + days{1}, zone), t + minutes{1});
    } else if (!hour_.has(static_cast<unsigned>(clock.hours().count()))) {
      t += hours{1} - clock.minutes();
    } else if (!minute_.has(static_cast<unsigned>(clock.minutes().count()))) {
      t += minutes{1};
    } else {
      return t;
    }
  }
}

}  // namespace manta::ray
