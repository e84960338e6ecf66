// What users of the reference ran into with RayCronJobs. Each test has its case's id.
#include "base/yaml.h"
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;

// RayCronJob `name`, whose RayJobs are kJob's and run until they are told to end.
std::string cron_job(std::string_view schedule, std::string_view more = {},
                     std::string_view name = "k") {
  const std::string job(kJob);
  const auto spec = job.find("spec:\n") + 6;
  std::string text = fmt::format(
      "apiVersion: ray.io/v1\nkind: RayCronJob\nmetadata: {{name: {}}}\nspec:\n"
      "  schedule: \"{}\"\n{}  jobTemplate:\n    submissionMode: HTTPMode\n",
      name, schedule, more);
  for (auto at = spec; at < job.size();) {
    const auto end = job.find('\n', at) + 1;
    text += "  " + job.substr(at, end - at);
    at = end;
  }
  return text;
}

class RayCronJobCase : public ::testing::Test {
 protected:
  static WorldOptions options(std::string_view gates = {}) {
    return {.feature_gates = fmt::format("RayCronJob=true{}{}", gates.empty() ? "" : ",", gates),
            .jobs_take = 20s};
  }
  static std::string last(const World& world) {
    return std::string(string_at(world.get("RayCronJob", "k"), {"status", "lastScheduleTime"}));
  }
  static bool has_condition(const World& world, std::string_view type) {
    for (const auto& condition : array_at(world.get("RayCronJob", "k"), {"status", "conditions"}))
      if (string_at(condition, {"type"}) == type) return true;
    return false;
  }
  static std::size_t children(const World& world) { return world.mirror().list("RayJob").size(); }
};

TEST_F(RayCronJobCase, CJ_01_AStatusConflictMakesNoSecondChild) {
  World world(options());
  world.faults().on_write = [done = false](std::size_t, const kube::Request& request) mutable {
    const bool hit =
        !done && request.resource.kind == "RayCronJob" && request.subresource == "status";
    done = done || hit;
    return hit ? kube::CallFault::Conflict : kube::CallFault::None;
  };
  world.apply(cron_job("*/5 * * * *")).run_until({"a tick", [](const World& w) {
                                                    return !last(w).empty();
                                                  }});
  EXPECT_EQ(world.mirror().created("RayJob"), 1);
  EXPECT_FALSE(world.injected().empty());
}

TEST_F(RayCronJobCase, CJ_02_OfADayOfMissedTicksOnlyTheLatestRuns) {
  World world(options("RayCronJobLatestTick=true"));
  world.apply(cron_job("* * * * *")).pass(1s).stop_operator().pass(24h);
  world.start_operator().pass(30s);
  EXPECT_EQ(world.mirror().created("RayJob"), 1);
  EXPECT_THAT(world.events("k"), Contains(HasSubstr("1439 ticks were missed")));
}

TEST_F(RayCronJobCase, CJ_02_OfADayInSuspensionAsWell) {
  World world(options("RayCronJobLatestTick=true"));
  world.apply(cron_job("* * * * *", "  suspend: true\n")).pass(24h);
  EXPECT_EQ(world.mirror().created("RayJob"), 0);
  world.patch("RayCronJob", "k", "{spec: {suspend: false}}").pass(10s);
  EXPECT_EQ(world.mirror().created("RayJob"), 1);
}

TEST_F(RayCronJobCase, CJ_04_AScheduleThatNeverFiresRunsNothing) {
  World world(options());
  world.apply(cron_job("0 0 30 2 *")).settle();
  EXPECT_EQ(children(world), 0u);
  EXPECT_TRUE(has_condition(world, "NeverFires"));
  world.expect_rest();
  world.patch("RayCronJob", "k", "{spec: {schedule: '*/5 * * * *'}}").pass(6min);
  EXPECT_FALSE(has_condition(world, "NeverFires"));
  EXPECT_GE(world.mirror().created("RayJob"), 1);
}

TEST_F(RayCronJobCase, CJ_07_ForbidWaitsForTheEarlierRun) {
  auto with = options("RayCronJobPolicies=true");
  with.jobs_take = 150s;
  World world(with);
  world.apply(cron_job("* * * * *", "  concurrencyPolicy: Forbid\n")).pass(10min);
  std::size_t running = 0;
  for (const auto* job : world.mirror().list("RayJob"))
    running += string_at(*job, {"status", "jobDeploymentStatus"}) != "Complete";
  EXPECT_LE(running, 1u);
  EXPECT_GE(world.mirror().created("RayJob"), 3);
  EXPECT_LE(world.mirror().created("RayJob"), 5);
}

TEST_F(RayCronJobCase, CJ_07_ReplaceEndsTheEarlierRun) {
  auto with = options("RayCronJobPolicies=true");
  with.jobs_take = 1h;
  World world(with);
  world.apply(cron_job("*/5 * * * *", "  concurrencyPolicy: Replace\n")).pass(21min);
  EXPECT_EQ(world.mirror().created("RayJob"), 4);
  EXPECT_EQ(children(world), 1u);
}

TEST_F(RayCronJobCase, CJ_07_WithoutTheGateRunsOverlap) {
  auto with = options();
  with.jobs_take = 1h;
  World world(with);
  world.apply(cron_job("*/5 * * * *", "  concurrencyPolicy: Forbid\n")).pass(21min);
  EXPECT_EQ(children(world), 4u);
}

TEST_F(RayCronJobCase, CJ_08_HistoryLimitsKeepTheNewest) {
  World world(options("RayCronJobPolicies=true"));
  world.apply(cron_job("* * * * *", "  successfulJobsHistoryLimit: 2\n")).pass(10min);
  EXPECT_GE(world.mirror().created("RayJob"), 8);
  EXPECT_LE(children(world), 3u);  // and the one that runs
}

TEST_F(RayCronJobCase, CJ_08_WithoutLimitsMoreThanAHundredAreAWarning) {
  World world(options());
  world.apply(cron_job("* * * * *")).pass(99min);
  EXPECT_FALSE(has_condition(world, "ManyRayJobs"));
  world.pass(8min);
  EXPECT_TRUE(has_condition(world, "ManyRayJobs"));
  EXPECT_GT(children(world), 100u) << "none is deleted";
  int told = 0;
  for (const auto& event : world.events("k")) told += event.starts_with("ManyRayJobs");
  EXPECT_EQ(told, 1);
}

TEST_F(RayCronJobCase, CJ_10_ANameOfThirtySixReachesItsPods) {
  World world(options());
  const std::string name(36, 'k');
  world.apply(cron_job("*/5 * * * *", {}, name))
      .run_until(
          {"its worker runs", [](const World& w) { return w.mirror().list("Pod").size() >= 2; }});
  world.apply(cron_job("*/5 * * * *", {}, name + "k")).pass(6min);
  const auto events = world.events(name + "k");
  ASSERT_FALSE(events.empty());
  EXPECT_THAT(events.front(), HasSubstr("no more than 36 characters"));
}

TEST_F(RayCronJobCase, CJ_11_AnInvalidTemplateIsACondition) {
  World world(options());
  world.apply(cron_job("*/5 * * * *"))
      .patch("RayCronJob", "k", "{spec: {jobTemplate: {backoffLimit: -1}}}")
      .pass(6min);
  EXPECT_TRUE(has_condition(world, "Invalid"));
  EXPECT_EQ(children(world), 0u);
  world.patch("RayCronJob", "k", "{spec: {jobTemplate: {backoffLimit: 0}}}").pass(1min);
  EXPECT_FALSE(has_condition(world, "Invalid"));
  EXPECT_GE(children(world), 1u);
}

// The records cj-* of the conformance suite pin this, and CJ-02's gate is off.
TEST_F(RayCronJobCase, SEEN_39_EachMissedTickGetsItsRayJob) {
  World world(options());
  world.apply(cron_job("*/5 * * * *", "  suspend: true\n")).pass(31min);
  EXPECT_EQ(world.mirror().created("RayJob"), 0);
  world.patch("RayCronJob", "k", "{spec: {suspend: false}}").pass(10s);
  EXPECT_EQ(world.mirror().created("RayJob"), 6);
  world.apply(cron_job("*/7 * * * nonsense", {}, "bad")).pass(1h);
  EXPECT_THAT(world.events("bad").front(), HasSubstr("InvalidRayCronJobSpec"));
}

TEST_F(RayCronJobCase, CJ_13_AfterAnEditTicksCountFromThere) {
  World world(options("RayCronJobCountFromEdit=true"));
  world.apply(cron_job("0 0 * * *")).pass(44h);  // from 22:13, so 18 hours after a midnight
  const auto before = world.mirror().created("RayJob");
  EXPECT_EQ(before, 2);
  world.patch("RayCronJob", "k", "{spec: {schedule: '30 * * * *'}}").pass(1min);
  EXPECT_EQ(world.mirror().created("RayJob"), before);
  world.pass(1h);
  EXPECT_EQ(world.mirror().created("RayJob"), before + 1);
}

}  // namespace
}  // namespace manta::integration
