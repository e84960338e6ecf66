#include "controllers/raycronjob/ticks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::raycronjob {
namespace {

const ray::ZoneOffset kUtc = [](Time) { return std::chrono::seconds{0}; };
Time at(std::string_view text) { return parse_rfc3339(text).value(); }

struct Case {
  const char* name;
  const char* schedule;
  const char* base;
  const char* now;
  const char* want;  // "<tick> <missed>"
};
const Case kCases[] = {
    {"NoneYet", "*/5 * * * *", "2026-01-01T00:05:00Z", "2026-01-01T00:09:59Z", "none"},
    {"TheBaseItselfIsDone", "*/5 * * * *", "2026-01-01T00:05:00Z", "2026-01-01T00:05:00Z", "none"},
    {"OnTheDot", "*/5 * * * *", "2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z",
     "2026-01-01T00:10:00Z 0"},
    {"TheLatestOfThree", "*/5 * * * *", "2026-01-01T00:05:00Z", "2026-01-01T00:21:00Z",
     "2026-01-01T00:20:00Z 2"},
    {"NeverFires", "0 0 30 2 *", "2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z", "none"},
    {"ManyAreCountedUpToTenThousand", "* * * * *", "2025-01-01T00:00:00Z", "2026-01-01T00:00:30Z",
     "2026-01-01T00:00:00Z 10000"},
    {"EverySecondOfTenYears", "@every 1s", "2016-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z",
     "2026-01-01T00:00:00Z 10000"},
    {"RareOnesAreFoundWithoutTheLastHour", "0 0 * * *", "1990-01-01T00:00:00Z",
     "2026-01-01T12:00:00Z", "2026-01-01T00:00:00Z 10000"},
};
class LatestTick : public ::testing::TestWithParam<Case> {};
TEST_P(LatestTick, Row) {  // CJ-02
  const auto schedule = *ray::CronSchedule::parse(GetParam().schedule);
  const auto due = latest_tick(schedule, kUtc, at(GetParam().base), at(GetParam().now));
  EXPECT_EQ(due ? fmt::format("{} {}", format_rfc3339(due->tick), due->missed) : "none",
            GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, LatestTick, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::controllers::raycronjob
