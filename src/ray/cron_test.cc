#include "ray/cron.h"

#include "ray/testing.h"
#include "ray/validation.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

using namespace std::chrono_literals;

const ZoneOffset kUtc = [](Time) { return 0s; };
Time at(std::string_view text) { return *parse_rfc3339(text); }

struct Next {
  const char* name;
  std::string_view schedule, after, due;
};
const Next kNext[] = {
    {"EveryMinute", "* * * * *", "2026-01-01T00:00:30Z", "2026-01-01T00:01:00Z"},
    {"StrictlyLater", "0 0 * * *", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
    {"Step", "*/20 * * * *", "2026-01-01T00:41:00Z", "2026-01-01T01:00:00Z"},
    {"FromTo", "5-7 3 * * *", "2026-01-01T03:06:01Z", "2026-01-01T03:07:00Z"},
    {"StepFrom", "50/5 * * * *", "2026-01-01T00:50:00Z", "2026-01-01T00:55:00Z"},
    {"List", "0 1,3,,5 * * *", "2026-01-01T03:00:00Z", "2026-01-01T05:00:00Z"},
    {"MonthName", "0 0 1 Feb *", "2026-02-01T00:00:00Z", "2027-02-01T00:00:00Z"},
    {"WeekdayName", "0 12 * * mon-FRI", "2026-01-02T12:00:00Z", "2026-01-05T12:00:00Z"},
    {"EitherDay", "0 0 13 * fri", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z"},
    {"BothWithStar", "0 0 */1 * fri", "2026-01-09T00:00:00Z", "2026-01-16T00:00:00Z"},
    {"StarStepIsNoStar", "0 0 */10 * fri", "2026-01-09T00:00:00Z", "2026-01-11T00:00:00Z"},
    {"LeapDay", "0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
    {"Yearly", "@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
    {"Weekly", "@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
    {"Hourly", "@hourly", "2026-01-01T00:59:59.5Z", "2026-01-01T01:00:00Z"},
    {"Every", "@every 1h30m", "2026-01-01T00:00:00.7Z", "2026-01-01T01:30:00Z"},
    {"EveryTooSmall", "@every 10ms", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"},
};
class CronNext : public testing::TestWithParam<Next> {};
TEST_P(CronNext, Row) {
  const auto schedule = CronSchedule::parse(GetParam().schedule);
  ASSERT_TRUE(schedule) << schedule.error().message;
  const auto due = schedule->next(at(GetParam().after), kUtc);
  ASSERT_TRUE(due);
  EXPECT_EQ(format_rfc3339(*due), GetParam().due);
}
INSTANTIATE_TEST_SUITE_P(, CronNext, testing::ValuesIn(kNext),
                         [](auto& info) { return info.param.name; });

TEST(Cron, NeverIsNothing) {
  EXPECT_EQ(CronSchedule::parse("0 0 30 2 *")->next(at("2026-01-01T00:00:00Z"), kUtc),
            std::nullopt);
}

// Berlin's changes of 2026: 29 March 02:00 → 03:00, 25 October 03:00 → 02:00.
const ZoneOffset kBerlin = [](Time t) {
  const bool summer = t >= at("2026-03-29T01:00:00Z") && t < at("2026-10-25T01:00:00Z");
  return summer ? std::chrono::seconds(2h) : std::chrono::seconds(1h);
};
std::string berlin(std::string_view schedule, std::string_view after) {
  return format_rfc3339(*CronSchedule::parse(schedule)->next(at(after), kBerlin));
}

TEST(CronZone, FollowsTheWallClock) {
  EXPECT_EQ(berlin("0 9 * * *", "2026-03-28T08:00:00Z"), "2026-03-29T07:00:00Z");
}
TEST(CronZone, SkippedTimesAreSkipped) {
  EXPECT_EQ(berlin("30 2 * * *", "2026-03-28T12:00:00Z"), "2026-03-30T00:30:00Z");
  EXPECT_EQ(berlin("0 * * * *", "2026-03-29T00:00:00Z"), "2026-03-29T01:00:00Z");
}
TEST(CronZone, RepeatedTimesComeTwice) {
  EXPECT_EQ(berlin("30 2 * * *", "2026-10-24T12:00:00Z"), "2026-10-25T00:30:00Z");
  EXPECT_EQ(berlin("30 2 * * *", "2026-10-25T00:30:00Z"), "2026-10-25T01:30:00Z");
}
// Instants of "30 2 * * *" around both changes, as robfig/cron tells them.
TEST(CronZone, CJ_06_AYearWithBothChangesOfClocks) {
  const auto schedule = *CronSchedule::parse("30 2 * * *");
  const auto ticks = [&](std::string_view after, int count) {
    std::string text;
    for (Time t = at(after); count-- > 0; text += format_rfc3339(t) + " ")
      t = *schedule.next(t, kBerlin);
    return text;
  };
  EXPECT_EQ(ticks("2026-03-27T12:00:00Z", 3),
            "2026-03-28T01:30:00Z 2026-03-30T00:30:00Z 2026-03-31T00:30:00Z ");
  EXPECT_EQ(ticks("2026-10-23T12:00:00Z", 4),
            "2026-10-24T00:30:00Z 2026-10-25T00:30:00Z 2026-10-25T01:30:00Z 2026-10-26T01:30:00Z ");
}
// Where clocks change at midnight robfig/cron takes the day after for the day, and passes the day
// by.
TEST(CronZone, CJ_06_TheDayThatBeginsAtOneOClockHasItsTicks) {
  const ZoneOffset beirut = [](Time t) {
    return t < at("2021-03-27T22:00:00Z") ? std::chrono::seconds(2h) : std::chrono::seconds(3h);
  };
  EXPECT_EQ(format_rfc3339(
                *CronSchedule::parse("10 15 * * 0-5")->next(at("2021-03-27T13:19:45Z"), beirut)),
            "2021-03-28T12:10:00Z");  // a Sunday; robfig/cron: the 29th
}
// Where they change by half an hour it goes on from the half hour.
TEST(CronZone, CJ_06_AnHourAfterAChangeByHalfAnHourIsWhole) {
  const ZoneOffset lord_howe = [](Time t) {
    return t < at("2012-10-06T15:30:00Z") ? std::chrono::seconds(10h + 30min)
                                          : std::chrono::seconds(11h);
  };
  EXPECT_EQ(format_rfc3339(
                *CronSchedule::parse("* 6 * * *")->next(at("2012-10-05T21:02:46Z"), lord_howe)),
            "2012-10-06T19:00:00Z");  // robfig/cron: 19:30
}
TEST(CronZone, SkippedMidnightDoesNotHang) {
  // A zone whose day begins at 01:00 on 2 January.
  const ZoneOffset zone = [](Time t) {
    return t < at("2026-01-02T00:00:00Z") ? 0s : std::chrono::seconds(1h);
  };
  EXPECT_EQ(
      format_rfc3339(*CronSchedule::parse("0 5 2 1 *")->next(at("2026-01-01T00:00:00Z"), zone)),
      "2026-01-02T04:00:00Z");
}

struct Bad {
  const char* name;
  std::string_view schedule, message;
};
const Bad kBad[] = {
    {"Empty", "", "empty spec string"},
    {"Four", "* *  * *", "expected exactly 5 fields, found 4: [* * * *]"},
    {"Hyphens", "1-2-3 * * * *", "too many hyphens: 1-2-3"},
    {"Slashes", "*/2/3 * * * *", "too many slashes: */2/3"},
    {"Word", "x * * * *",
     "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
    {"Negative", "*/-5 * * * *", "negative number (-5) not allowed: -5"},
    {"Below", "* * 0 * *", "beginning of range (0) below minimum (1): 0"},
    {"Above", "60 * * * *", "end of range (60) above maximum (59): 60"},
    {"SundayIsZero", "* * * * 7", "end of range (7) above maximum (6): 7"},
    {"Backwards", "5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"},
    {"StepZero", "*/0 * * * *", "step of range should be a positive number: */0"},
    {"Descriptor", "@fortnightly", "unrecognized descriptor: @fortnightly"},
};
class CronBad : public testing::TestWithParam<Bad> {};
TEST_P(CronBad, Row) {
  const auto schedule = CronSchedule::parse(GetParam().schedule);
  ASSERT_FALSE(schedule);
  EXPECT_EQ(schedule.error().message, GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(, CronBad, testing::ValuesIn(kBad),
                         [](auto& info) { return info.param.name; });

TEST(CronBadDuration, IsNamed) {
  const auto schedule = CronSchedule::parse("@every soon");
  ASSERT_FALSE(schedule);
  EXPECT_TRUE(schedule.error().message.starts_with("failed to parse duration @every soon: "));
}

std::string judge(std::string_view patch, std::string name = "c") {
  Json spec = yaml(
      "{schedule: '@hourly', jobTemplate: {rayClusterSpec: {headGroupSpec: {template: {spec: "
      "{containers: [{name: h}]}}}}}}");
  merge_patch(spec, yaml(patch));
  const auto parsed = parse_part<RayCronJobSpec>(spec, "spec");
  EXPECT_TRUE(parsed);
  return message_of(validate_cron_job(
      name, *parsed, {}, [](std::string_view zone) { return zone == "Europe/Berlin"; }));
}

TEST(CronJob, Refusals) {
  EXPECT_EQ(judge("{}"), "");
  EXPECT_EQ(judge("{}", std::string(37, 'a')),
            "RayCronJob name should be no more than 36 characters: got 37");
  EXPECT_EQ(judge("schedule: 'CRON_TZ=UTC 0 0 * * *'"),
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead: got "
            "\"CRON_TZ=UTC 0 0 * * *\"");
  EXPECT_EQ(judge("schedule: ''"), "invalid cron schedule: empty spec string");
  EXPECT_EQ(judge("timeZone: ''"),
            "timeZone must not be empty string, omit the field to use the local time zone of the "
            "KubeRay operator");
  EXPECT_EQ(judge("timeZone: Europe/Berlin"), "");
  EXPECT_EQ(judge("timeZone: Local"), "");
  EXPECT_EQ(judge("timeZone: Moon/Base"), "invalid time zone: unknown time zone Moon/Base");
  EXPECT_EQ(judge("timeZone: ../etc"), "invalid time zone: time: invalid location name");
  EXPECT_EQ(judge("jobTemplate: {rayClusterSpec: null}"),
            "invalid RayJob template: The RayJob spec is invalid: one of RayClusterSpec or "
            "ClusterSelector must be set");
}

}  // namespace
}  // namespace manta::ray
