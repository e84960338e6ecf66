#include "controllers/raycronjob/plan.h"

#include "controllers/raycluster/testing.h"

#include <fmt/format.h>
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
    {"OfAMinuteTheFirstTick", "@every 1ns", "", "2026-01-01T00:05:30Z",
     "k-29453760 2026-01-01T00:00:01Z"},
    {"OfAMinuteNoOther", "@every 1ns", "2026-01-01T00:05:01Z", "2026-01-01T00:05:30Z", "wait 30s"},
    {"OfTheNextMinuteTheFirst", "@every 25s", "2026-01-01T00:05:00Z", "2026-01-01T00:06:50Z",
     "k-29453766 2026-01-01T00:06:15Z"},
    {"TheFirstTickOfAMinuteAfterALateOne", "@every 90s", "2026-01-01T00:05:59Z",
     "2026-01-01T00:07:30Z", "k-29453767 2026-01-01T00:07:29Z"},
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

kube::Plan plan_of(const RayCronJobSeen& seen, Time now, JobGates gates = {}) {
  const kube::Facts facts;
  const kube::Failures failures;
  auto settings = with_zones();
  settings.job_gates = gates;
  return plan(seen, settings, {.now = now, .facts = facts, .failures = failures});
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
  EXPECT_EQ(string_at(array_at(plan.status->body, {"status", "conditions"})[0], {"type"}),
            "Invalid");
}

// A cron job that made these children, each with its state, oldest first.
RayCronJobSeen with_children(std::initializer_list<std::string_view> states,
                             const std::function<void(ray::RayCronJobSpec&)>& edit) {
  auto seen = seen_of(kCases[0]);
  auto copy = *seen.cron_job;
  edit(copy.spec);
  seen.cron_job = std::make_shared<const ray::RayCronJob>(copy);
  int n = 0;
  for (const auto state : states) {
    ray::RayJob job;
    job.meta.key = {"ns", fmt::format("child-{}", n)};
    job.meta.created = at("2026-01-01T00:00:00Z") + std::chrono::seconds{n++};
    job.status.jobDeploymentStatus = state;
    seen.children.push_back(std::make_shared<const ray::RayJob>(job));
  }
  return seen;
}

std::string writes(const kube::Plan& plan) {
  std::string text;
  for (const auto& stage : plan.stages)
    for (const auto& write : stage)
      text += fmt::format("{} {};", write.kind == kube::WriteKind::Create ? "create" : "delete",
                          write.key.name);
  return text;
}

struct PolicyCase {
  const char* name;
  std::optional<std::string> policy;
  std::initializer_list<std::string_view> children;
  const char* want;  // at 00:11: the ticks of 00:05 and 00:10 are due
};
const PolicyCase kPolicies[] = {
    // CJ-07
    {"AbsentIsAllow", {}, {"Running"}, "create k-29453765;"},
    {"Allow", "Allow", {"Running"}, "create k-29453765;"},
    {"ForbidWaits", "Forbid", {"Running"}, ""},
    {"ForbidOfASuspendedOneWaitsToo", "Forbid", {"Suspended"}, ""},
    {"ForbidAfterItsEndTakesTheLatest", "Forbid", {"Failed"}, "create k-29453770;"},
    {"Replace", "Replace", {"Complete", "Running"}, "delete child-1;create k-29453770;"},
};
class CronPolicy : public ::testing::TestWithParam<PolicyCase> {};
TEST_P(CronPolicy, Row) {
  const auto seen = with_children(GetParam().children, [&](ray::RayCronJobSpec& spec) {
    spec.concurrencyPolicy = GetParam().policy;
  });
  EXPECT_EQ(writes(plan_of(seen, at("2026-01-01T00:11:00Z"), {.cron_policies = true})),
            GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, CronPolicy, ::testing::ValuesIn(kPolicies),
                         [](auto& c) { return c.param.name; });

TEST(CronPolicies, WithoutTheirGateCountForNothing) {
  const auto seen = with_children({"Running", "Complete", "Failed"}, [](ray::RayCronJobSpec& spec) {
    spec.concurrencyPolicy = "Forbid";
    spec.successfulJobsHistoryLimit = 0;
    spec.failedJobsHistoryLimit = 0;
    spec.startingDeadlineSeconds = 1;
  });
  EXPECT_EQ(writes(plan_of(seen, at("2026-01-01T00:11:00Z"))), "create k-29453765;");
}

TEST(CronPolicies, HistoryLimitsDeleteTheOldest) {  // CJ-08
  const auto seen =
      with_children({"Complete", "Failed", "Complete", "Running", "Complete", "ValidationFailed"},
                    [](ray::RayCronJobSpec& spec) {
                      spec.successfulJobsHistoryLimit = 1;
                      spec.failedJobsHistoryLimit = 0;
                    });
  EXPECT_EQ(writes(plan_of(seen, at("2026-01-01T00:01:00Z"), {.cron_policies = true})),
            "delete child-0;delete child-2;delete child-1;delete child-5;");
}

TEST(CronPolicies, ATickMissedByTooMuchIsDropped) {
  const auto seen =
      with_children({}, [](ray::RayCronJobSpec& spec) { spec.startingDeadlineSeconds = 120; });
  const JobGates gates{.cron_policies = true};
  EXPECT_EQ(outcome(plan_of(seen, at("2026-01-01T00:08:00Z"), gates)), "wait 2m0s");
  EXPECT_EQ(writes(plan_of(seen, at("2026-01-01T00:07:00Z"), gates)), "create k-29453765;");
}

TEST(CronGate, OnlyTheLatestOfManyMissedTicks) {  // CJ-02
  const auto seen =
      with_children({}, [](ray::RayCronJobSpec& spec) { spec.schedule = "* * * * *"; });
  const auto plan = plan_of(seen, at("2026-01-02T00:00:30Z"), {.latest_tick = true});
  EXPECT_EQ(writes(plan), "create k-29455200;");
  EXPECT_EQ(plan.events.at(0).reason, "MissedTicks");
  EXPECT_NE(plan.events[0].note.find("1439 ticks"), std::string::npos) << plan.events[0].note;
}

TEST(CronGate, TicksCountFromAnEdit) {  // CJ-13
  auto seen = with_children({}, [](ray::RayCronJobSpec& spec) { spec.schedule = "0 * * * *"; });
  auto copy = *seen.cron_job;
  copy.meta.generation = 2;
  copy.status.lastScheduleTime = at("2026-01-01T00:00:00Z");
  const JobGates gates{.count_from_edit = true};
  const auto now = at("2026-01-01T20:30:00Z");
  seen.cron_job = std::make_shared<const ray::RayCronJob>(copy);
  const auto noticed = plan_of(seen, now, gates);
  EXPECT_TRUE(noticed.stages.empty());
  copy.status =
      ray::parse_part<ray::RayCronJobStatus>(noticed.status->body.at("status"), "status").value();
  seen.cron_job = std::make_shared<const ray::RayCronJob>(copy);
  EXPECT_EQ(outcome(plan_of(seen, now, gates)), "wait 30m0s");
}

TEST(CronPlanNever, IsSaidOnce) {  // CJ-04
  auto seen = seen_of(kCases[4]);
  const auto plan = plan_of(seen, at("2026-01-01T00:05:30Z"));
  EXPECT_EQ(plan.events.at(0).reason, "NeverFires");
  auto copy = *seen.cron_job;
  copy.status =
      ray::parse_part<ray::RayCronJobStatus>(plan.status->body.at("status"), "status").value();
  seen.cron_job = std::make_shared<const ray::RayCronJob>(copy);
  const auto again = plan_of(seen, at("2026-01-01T00:06:30Z"));
  EXPECT_TRUE(again.events.empty());
  EXPECT_FALSE(again.status);
}

}  // namespace
}  // namespace manta::controllers::raycronjob
