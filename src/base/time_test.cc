#include "base/time.h"

#include <gtest/gtest.h>

namespace manta {
namespace {

using namespace std::chrono_literals;

TEST(Rfc3339, ReadsEveryFormAndPrintsOurs) {
  const std::pair<const char*, const char*> rows[] = {
      {"2026-08-19T13:21:52Z", "2026-08-19T13:21:52.000000Z"},
      {"2026-08-19T13:21:52.000123Z", "2026-08-19T13:21:52.000123Z"},
      {"2026-08-19T13:21:52.1234567899Z", "2026-08-19T13:21:52.123456Z"},
      {"2026-08-19T13:21:52+02:00", "2026-08-19T11:21:52.000000Z"},
      {"2026-08-19T23:21:52.5-01:30", "2026-08-20T00:51:52.500000Z"},
      {"1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.250000Z"},
      {"2024-02-29T00:00:00z", "2024-02-29T00:00:00.000000Z"}};
  for (const auto& [in, out] : rows) {
    const auto time = parse_rfc3339(in);
    ASSERT_TRUE(time) << in;
    EXPECT_EQ(format_rfc3339_micro(*time), out);
  }
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("2026-08-19T13:21:52.9Z")), "2026-08-19T13:21:52Z");
}

TEST(Rfc3339, RefusesEverythingElse) {
  for (const auto* text :
       {"", "2026-08-19", "2026-08-19 13:21:52Z", "2026-08-19T13:21:52", "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-08-19T24:00:00Z", "2026-08-19T13:21:52.Z",
        "2026-08-19T13:21:52Zx", "26-08-19T13:21:52Z", "2026-08-19T13:21:52+0200"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(GoDuration, ReadsAndPrints) {
  const std::pair<const char*, const char*> rows[] = {
      {"0", "0s"},         {"300ms", "300ms"},
      {"1.5s", "1.5s"},    {"1h15m", "1h15m0s"},
      {"-1.5s", "-1.5s"},  {"90m", "1h30m0s"},
      {"1000us", "1ms"},   {"1µs", "1µs"},
      {".5m", "30s"},      {"2h0.001s", "2h0m0.001s"},
      {"1500µs", "1.5ms"}, {"100000h", "100000h0m0s"}};
  for (const auto& [in, out] : rows) {
    const auto duration = parse_go_duration(in);
    ASSERT_TRUE(duration) << in;
    EXPECT_EQ(format_go_duration(*duration), out) << in;
  }
  for (const auto* text : {"", "5", "s", "1d", "1.s.", "-", "1h 2m", "99999999999999999999h", "."})
    EXPECT_FALSE(parse_go_duration(text)) << text;
}

TEST(Rfc3339, OffsetsDoNotLeadOutOfTheCalendar) {
  EXPECT_FALSE(parse_rfc3339("0000-01-01T00:00:00+01:00"));
  EXPECT_FALSE(parse_rfc3339("9999-12-31T23:30:00-01:00"));
  for (const std::string_view edge : {"0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"})
    EXPECT_EQ(format_rfc3339(parse_rfc3339(edge).value()), edge);
}

}  // namespace
}  // namespace manta
