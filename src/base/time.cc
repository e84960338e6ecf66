#include "base/time.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace manta {
namespace {

using namespace std::chrono;

std::string format_seconds(Time time) {
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int(date.year()),
                     unsigned(date.month()), unsigned(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

// Reads exactly `count` digits at the front of `text` and drops them.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take_char(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// ".123456789" → microseconds; digits past the sixth are dropped.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!take_char(text, ".")) return 0;
  std::int64_t micros = 0, unit = 100'000;
  bool any = false;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    micros += unit * (text[0] - '0');
    unit /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? std::optional(micros) : std::nullopt;
}

std::optional<minutes> take_zone(std::string_view& text) {
  if (take_char(text, "Zz")) return minutes{0};
  const bool west = !text.empty() && text[0] == '-';
  if (!take_char(text, "+-")) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take_char(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  const minutes offset{*hour * 60 + *minute};
  return west ? -offset : offset;
}

std::optional<Time> read_rfc3339(std::string_view text) {
  const auto y = take_digits(text, 4);
  if (!y || !take_char(text, "-")) return std::nullopt;
  const auto m = take_digits(text, 2);
  if (!m || !take_char(text, "-")) return std::nullopt;
  const auto d = take_digits(text, 2);
  if (!d || !take_char(text, "Tt")) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take_char(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59 || !take_char(text, ":")) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *second > 59) return std::nullopt;
  const auto micros = take_fraction(text);
  if (!micros) return std::nullopt;
  const auto zone = take_zone(text);
  if (!zone || !text.empty()) return std::nullopt;
  const year_month_day date(year{*y}, month(static_cast<unsigned>(*m)),
                            day(static_cast<unsigned>(*d)));
  if (!date.ok()) return std::nullopt;
  const Time time = sys_days(date) + hours{*hour} + minutes{*minute} + seconds{*second} +
                    microseconds{*micros} - *zone;
  // An offset can lead out of the years that the format can write.
  const auto year_utc = year_month_day(floor<days>(time)).year();
  if (year_utc < year{0} || year_utc > year{9999}) return std::nullopt;
  return time;
}

}  // namespace

std::string format_rfc3339(Time time) { return format_seconds(time) + "Z"; }

std::string format_rfc3339_micro(Time time) {
  const auto fraction = time - floor<seconds>(time);
  return fmt::format("{}.{:06}Z", format_seconds(time), fraction.count());
}

Result<Time> parse_rfc3339(std::string_view text) {
  if (const auto time = read_rfc3339(text)) return *time;
  return failed(ErrorCode::Invalid,
                fmt::format("{:?} must be an RFC 3339 time such as 2026-08-19T13:21:52Z", text));
}

Result<Duration> parse_go_duration(std::string_view text) {
  const auto bad = [&] {
    return failed(ErrorCode::Invalid,
                  fmt::format("{:?} must be a duration such as 300ms, 1.5s or 1h15m", text));
  };
  auto rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  take_char(rest, "+-");
  if (rest == "0") return Duration{0};
  if (rest.empty()) return bad();
  __int128 nanos = 0;
  constexpr __int128 kLimit = 9'223'372'036'854'775'807;
  while (!rest.empty()) {
    __int128 whole = 0, fraction = 0, scale = 1;
    bool any = false;
    for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1), any = true)
      if ((whole = whole * 10 + (rest[0] - '0')) > kLimit) return bad();
    if (take_char(rest, ".")) {
      for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1), any = true) {
        if (scale >= 1'000'000'000'000'000) continue;
        fraction = fraction * 10 + (rest[0] - '0');
        scale *= 10;
      }
    }
    if (!any) return bad();
    const auto end = rest.find_first_of("0123456789.");
    const auto unit = rest.substr(0, end);
    rest.remove_prefix(unit.size());
    __int128 size = 0;
    if (unit == "ns") size = 1;
    if (unit == "us" || unit == "µs" || unit == "μs") size = 1'000;
    if (unit == "ms") size = 1'000'000;
    if (unit == "s") size = 1'000'000'000;
    if (unit == "m") size = 60'000'000'000;
    if (unit == "h") size = 3'600'000'000'000;
    if (size == 0) return bad();
    nanos += whole * size + fraction * size / scale;
    if (nanos > kLimit) return bad();
  }
  const auto micros = static_cast<std::int64_t>(nanos / 1000);
  return Duration{negative ? -micros : micros};
}

std::string format_go_duration(Duration duration) {
  const auto total = duration.count();
  if (total == 0) return "0s";
  const auto magnitude =
      total < 0 ? 0 - static_cast<std::uint64_t>(total) : static_cast<std::uint64_t>(total);
  const auto decimal = [](std::uint64_t units, std::uint64_t per, int width) {
    auto text = fmt::format("{}.{:0{}}", units / per, units % per, width);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
  };
  std::string out = total < 0 ? "-" : "";
  if (magnitude < 1'000) return out + fmt::format("{}µs", magnitude);
  if (magnitude < 1'000'000) return out + decimal(magnitude, 1'000, 3) + "ms";
  const auto minutes_all = magnitude / 60'000'000;
  if (minutes_all >= 60) out += fmt::format("{}h", minutes_all / 60);
  if (minutes_all > 0) out += fmt::format("{}m", minutes_all % 60);
  return out + decimal(magnitude % 60'000'000, 1'000'000, 6) + "s";
}

}  // namespace manta
