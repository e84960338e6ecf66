// The footer of a TZif file: "CET-1CEST,M3.5.0,M10.5.0/3", a POSIX TZ string.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace manta::operator_ {

struct PosixZone {
  struct Change {  // when a half of the year begins, in local time
    enum class Kind { Month, Julian, DayOfYear } kind = Kind::Month;
    int month = 0, week = 0, day = 0;
    std::chrono::seconds time = std::chrono::hours{2};
  };
  std::chrono::seconds standard = {};  // east of UTC
  std::optional<std::chrono::seconds> summer = {};
  Change to_summer = {};
  Change to_standard = {};

  std::chrono::seconds at(std::chrono::sys_seconds instant) const;
};

/// Nothing when the text is none.
std::optional<PosixZone> parse_posix_zone(std::string_view text);

}  // namespace manta::operator_
