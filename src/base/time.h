// Wall-clock instants, durations, and their text forms.
#pragma once

#include "base/result.h"

#include <chrono>
#include <string>
#include <string_view>

namespace manta {

using Duration = std::chrono::microseconds;
/// An instant of the wall clock, UTC, microseconds. Passed in as an argument wherever a decision
/// needs it; only Loop implementations read the clock.
using Time = std::chrono::sys_time<std::chrono::microseconds>;
/// An instant of a clock that only goes forward, since some moment: for what waits. A wall clock
/// that is put back or forward delays and hurries nothing.
using Steady = std::chrono::time_point<std::chrono::steady_clock, std::chrono::microseconds>;

/// "2026-08-19T13:21:52Z", whole seconds as Kubernetes' metav1.Time writes them.
std::string format_rfc3339(Time time);
/// "2026-08-19T13:21:52.000123Z", as metav1.MicroTime writes them.
std::string format_rfc3339_micro(Time time);
/// Any RFC 3339 instant, with fraction and zone offset. Fails on everything else.
Result<Time> parse_rfc3339(std::string_view text);
/// Go's duration syntax: "300ms", "1h15m", "-1.5s". Fails on everything else.
Result<Duration> parse_go_duration(std::string_view text);
/// As Go prints it: "1h15m0s", "1.5s", "0s".
std::string format_go_duration(Duration duration);

}  // namespace manta
