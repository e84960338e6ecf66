#include "operator/time_zones.h"

#include "operator/posix_zone.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

struct Case {
  const char* name;
  const char* zone;
  const char* instant;
  int hours;
};
const Case kCases[] = {
    {"NorthWinter", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-01-15T00:00:00Z", 1},
    {"NorthSummer", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-07-15T00:00:00Z", 2},
    {"LastSecondOfWinter", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", 1},
    {"FirstSecondOfSummer", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 2},
    {"LastSecondOfSummer", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T00:59:59Z", 2},
    {"FirstSecondOfNextWinter", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 1},
    {"SouthSummer", "AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-15T00:00:00Z", 11},
    {"SouthWinter", "AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-15T00:00:00Z", 10},
    {"NoSummer", "JST-9", "2026-07-15T00:00:00Z", 9},
    {"QuotedName", "<-03>3", "2026-07-15T00:00:00Z", -3},
    {"West", "EST5EDT,M3.2.0,M11.1.0", "2026-01-15T00:00:00Z", -5},
};
class PosixZones : public testing::TestWithParam<Case> {};
TEST_P(PosixZones, Row) {
  const auto zone = parse_posix_zone(GetParam().zone);
  ASSERT_TRUE(zone);
  const auto instant = std::chrono::floor<std::chrono::seconds>(*parse_rfc3339(GetParam().instant));
  EXPECT_EQ(zone->at(instant), std::chrono::hours{GetParam().hours});
}
INSTANTIATE_TEST_SUITE_P(, PosixZones, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(PosixZone, RefusesWhatIsNone) {
  for (auto text : {"", "X", "CET", "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3.5.0", "CET-1 ",
                    "CET-1CEST,J60/2:2147483647,J61", "CET2147483647", "CET--1", "CETx"})
    EXPECT_FALSE(parse_posix_zone(text)) << text;
}

// A version-1 file: one type before, one after an instant.
std::string tzif(std::int32_t change, std::int32_t before, std::int32_t after) {
  const auto number = [](std::int32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes += static_cast<char>(static_cast<std::uint32_t>(value) >> shift);
    return bytes;
  };
  std::string text = "TZif" + std::string(16, '\0');
  for (int count : {0, 0, 0, 1, 2, 4}) text += number(count);
  text += number(change) + '\1';
  text += number(before) + std::string(2, '\0') + number(after) + std::string(2, '\0');
  return text + std::string("ABC\0", 4);
}

TEST(TzifFile, ChangesAtItsInstant) {
  const auto zone = parse_time_zone(tzif(1000, 3600, 7200));
  ASSERT_TRUE(zone);
  EXPECT_EQ((*zone)(Time{std::chrono::seconds{999}}), std::chrono::hours{1});
  EXPECT_EQ((*zone)(Time{std::chrono::seconds{1000}}), std::chrono::hours{2});
}

TEST(TzifFile, RefusesEveryShorterFile) {
  const auto whole = tzif(1000, 3600, 7200);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_time_zone(std::string_view(whole).substr(0, size))) << size;
}

// Both changes of clocks of a year, as robfig/cron v3.0.1 ticks over them: what is skipped is
// skipped, what comes twice comes twice.
struct Ticks {
  const char *zone, *schedule, *after, *ticks;
};
const Ticks kTicks[] = {
    {"Europe/Berlin", "30 2 * * *", "2026-03-27T12:00:00Z",
     "03-28T01:30 03-30T00:30 03-31T00:30 04-01T00:30 "},
    {"Europe/Berlin", "30 2 * * *", "2026-10-23T12:00:00Z",
     "10-24T00:30 10-25T00:30 10-25T01:30 10-26T01:30 "},
    {"Europe/Berlin", "*/30 1-2 * * *", "2026-03-28T12:00:00Z",
     "03-29T00:00 03-29T00:30 03-29T23:00 03-29T23:30 "},
    {"America/New_York", "30 1 * * *", "2026-10-31T12:00:00Z",
     "11-01T05:30 11-01T06:30 11-02T06:30 11-03T06:30 "},
    {"America/New_York", "15 2 * * sun", "2026-03-01T12:00:00Z",
     "03-15T06:15 03-22T06:15 03-29T06:15 04-05T06:15 "},
    {"Australia/Sydney", "0 2 * * *", "2026-04-03T12:00:00Z",
     "04-03T15:00 04-04T15:00 04-04T16:00 04-05T16:00 "},
    {"Australia/Sydney", "59 2 * * *", "2026-10-02T12:00:00Z",
     "10-02T16:59 10-04T15:59 10-05T15:59 10-06T15:59 "},
    {"Europe/London", "@hourly", "2026-10-24T23:30:00Z",
     "10-25T00:00 10-25T01:00 10-25T02:00 10-25T03:00 "},
};
TEST(TimeZones, CJ_06_TicksOverTheChangesOfClocks) {
  TimeZones zones([](std::string_view) { return std::nullopt; });
  if (!zones.find("Europe/Berlin")) GTEST_SKIP() << "no time zone database here";
  for (const auto& row : kTicks) {
    const auto zone = zones.find(row.zone);
    ASSERT_TRUE(zone) << row.zone;
    const auto schedule = *ray::CronSchedule::parse(row.schedule);
    std::string ticks;
    auto time = *parse_rfc3339(row.after);
    for (int i = 0; i < 4; ++i) {
      time = *schedule.next(time, *zone);
      ticks += format_rfc3339(time).substr(5, 11) + " ";
    }
    EXPECT_EQ(ticks, row.ticks) << row.zone << " " << row.schedule;
  }
}

TEST(TimeZones, RefusesNamesThatLeaveTheDatabase) {
  TimeZones zones([](std::string_view) { return std::nullopt; });
  for (auto name : {"../UTC", "/etc/localtime", "a\\b", "Mars/Olympus"})
    EXPECT_FALSE(zones.find(name)) << name;
  EXPECT_TRUE(zones.find("UTC"));
  EXPECT_TRUE(zones.find("Local"));
}

}  // namespace
}  // namespace manta::operator_
