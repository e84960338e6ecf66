#include "controllers/raycronjob/plan.h"

#include "controllers/raycluster/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers::raycronjob {
namespace {

Time at(std::string_view text) { return parse_rfc3339(text).value(); }

struct Case {
  const char* name;
  const char* schedule;
  const char* last;  // empty: created at 00:00:00
  const char* now;
  const char* want;  // "<child> <its tick>", "wait <time>", or "nothing"
};
const Case kCases[] = {
    {"FirstTick", "*/5 * * * *", "", "2026-01-01T00:05:30Z", "k-29453765 2026-01-01T00:05:00Z"},
    {"NotYet", "*/5 * * * *", "", "2026-01-01T00:04:30Z", "wait 30s"},
    {"NextTick", "*/5 * * * *", "2026-01-01T00:05:00Z", "2026-01-01T00:05:30Z", "wait 4m30s"},
    {"MissedTicksOneByOne", "*/5 * * * *", "2026-01-01T00:05:00Z", "2026-01-01T01:00:00Z",
     "k-29453770 2026-01-01T00:10:00Z"},
    {"NeverFires", "0 0 30 2 *", "", "2026-01-01T00:05:30Z", "nothing"},  // CJ-04
};

RayCronJobSeen seen_of(const Case& row) {
  ray::RayCronJob cron_job;
  cron_job.meta = {.key = {"ns", "k"},
                   .uid = "k-uid",
                   .resource_version = 1,
                   .created = at("2026-01-01T00:00:00Z")};
  cron_job.spec.schedule = row.schedule;
  cron_job.spec.jobTemplate.entrypoint = "python a.py";
  cron_job.spec.jobTemplate.rayClusterSpec = raycluster::testing::cluster().spec;
  if (*row.last) cron_job.status.lastScheduleTime = at(row.last);
  return {.cron_job = std::make_shared<const ray::RayCronJob>(cron_job),
          .has_job = [](const kube::ObjectKey&) { return false; }};
}

Settings with_zones() {
  Settings settings;
  settings.zones = [](std::string_view name) -> std::optional<ray::ZoneOffset> {
    if (name != "Local") return std::nullopt;
    return [](Time) { return std::chrono::seconds{0}; };
  };
  return settings;
}

kube::Plan plan_of(const RayCronJobSeen& seen, Time now) {
  const kube::Facts facts;
  const kube::Failures failures;
  return plan(seen, with_zones(), {.now = now, .facts = facts, .failures = failures});
}

std::string outcome(const kube::Plan& plan) {
  if (plan.look_again) return "wait " + format_go_duration(*plan.look_again);
  if (plan.stages.empty()) return "nothing";
  return plan.stages[0][0].key.name + " " +
         std::string(string_at(plan.status->body, {"status", "lastScheduleTime"}));
}

class CronPlan : public ::testing::TestWithParam<Case> {};
TEST_P(CronPlan, Row) {
  EXPECT_EQ(outcome(plan_of(seen_of(GetParam()), at(GetParam().now))), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, CronPlan, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(CronPlanLaw, OneTickMakesOneJobWhoeverMadeIt) {
  auto seen = seen_of(kCases[0]);
  seen.has_job = [](const kube::ObjectKey&) { return true; };
  const auto plan = plan_of(seen, at("2026-01-01T00:05:30Z"));
  EXPECT_TRUE(plan.stages.empty());
  EXPECT_TRUE(plan.status);
}

TEST(CronPlanValidation, UnknownZoneIsInvalid) {
  auto seen = seen_of(kCases[0]);
  auto copy = *seen.cron_job;
  copy.spec.timeZone = "Mars/Olympus";
  seen.cron_job = std::make_shared<const ray::RayCronJob>(copy);
  const auto plan = plan_of(seen, at("2026-01-01T00:05:30Z"));
  ASSERT_EQ(plan.events.size(), 1u);
  EXPECT_EQ(plan.events[0].reason, "InvalidRayCronJobSpec");
  EXPECT_TRUE(plan.stages.empty());
}

}  // namespace
}  // namespace manta::controllers::raycronjob
