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

TEST(TimeZones, RefusesNamesThatLeaveTheDatabase) {
  TimeZones zones([](std::string_view) { return std::nullopt; });
  for (auto name : {"../UTC", "/etc/localtime", "a\\b", "Mars/Olympus"})
    EXPECT_FALSE(zones.find(name)) << name;
  EXPECT_TRUE(zones.find("UTC"));
  EXPECT_TRUE(zones.find("Local"));
}

}  // namespace
}  // namespace manta::operator_
