// Complete and Failed.
#include "controllers/rayjob/states.h"
#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::World;

TEST(RayJobCleanup, WaitsForItsTime) {
  World world("HTTPMode");
  world.job.spec.ttlSecondsAfterFinished = 10;
  world.ready().ray_says("SUCCEEDED");
  EXPECT_TRUE(world.cluster);
  EXPECT_EQ(world.look().look_again, std::chrono::seconds{10});
  world.pass_time(std::chrono::seconds{10});
  EXPECT_FALSE(world.cluster);
}

ray::DeletionRule rule(std::string policy, std::int32_t seconds) {
  return {.policy = std::move(policy),
          .condition = {.jobStatus = "SUCCEEDED", .ttlSeconds = seconds}};
}

TEST(RayJobCleanup, RulesActInTurn) {
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.job.spec.deletionStrategy = {
      .deletionRules = {rule("DeleteWorkers", 5), rule("DeleteCluster", 20)}};
  world.ready().ray_says("SUCCEEDED");
  world.written();
  world.now += std::chrono::seconds{5};
  const auto plan = world.look();
  EXPECT_EQ(plan.stages.at(0).at(0).done_event->reason, "UpdatedRayCluster");
  EXPECT_EQ(plan.look_again, std::chrono::seconds{15});
  world.cluster->spec.workerGroupSpecs[0].suspend = true;
  world.settle();
  EXPECT_EQ(world.written(), "");
  world.pass_time(std::chrono::seconds{15});
  EXPECT_EQ(world.written(), "delete rayclusters");
}

// A status may have been edited by hand, or restored.
TEST(RayJobCleanup, AClusterOfSomebodyElseIsLeftAlone) {
  for (const auto* policy : {"DeleteWorkers", "DeleteCluster"}) {
    World world("HTTPMode");
    world.job.spec.shutdownAfterJobFinishes = false;
    world.job.spec.deletionStrategy = {.deletionRules = {rule(policy, 5)}};
    world.ready().ray_says("SUCCEEDED");
    world.written();
    world.cluster->meta.owners.at(0).uid = "another";
    world.pass_time(std::chrono::seconds{5});
    EXPECT_EQ(world.written(), "");
  }
}

TEST(RayJobCleanup, OverdueRulesCollapseToTheStrongest) {  // RJ-14
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.job.spec.deletionStrategy = {
      .deletionRules = {rule("DeleteWorkers", 1), rule("DeleteCluster", 2), rule("DeleteSelf", 3)}};
  world.ready().ray_says("SUCCEEDED");
  world.now += std::chrono::seconds{700};
  const auto plan = world.look();
  ASSERT_EQ(plan.stages.size(), 1u);
  ASSERT_EQ(plan.stages[0].size(), 1u);
  EXPECT_EQ(plan.stages[0][0].resource.plural, "rayjobs");
}

TEST(RayJobCleanup, RulesThatMatchNothingAreSaid) {  // RJ-12
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.job.spec.deletionStrategy = {.deletionRules = {rule("DeleteCluster", 0)}};
  world.job.spec.activeDeadlineSeconds = 100;
  world.ready().ray_says("RUNNING").pass_time(std::chrono::seconds{100});
  EXPECT_EQ(world.state(), "Failed/RUNNING/DeadlineExceeded");
  EXPECT_EQ(world.notices(), "CleanupNotApplicable");
  EXPECT_TRUE(world.look().events.empty()) << "once";
  EXPECT_TRUE(world.cluster);
}

TEST(RayJobCleanup, OlderPoliciesThatMatchNothingAreSaid) {
  World world("HTTPMode");
  world.job.spec.deletionStrategy = {.onSuccess = ray::DeletionPolicy{.policy = "DeleteCluster"},
                                     .onFailure = ray::DeletionPolicy{.policy = "DeleteCluster"}};
  world.ready().ray_says("STOPPED");
  EXPECT_EQ(world.notices(), "CleanupNotApplicable");
}

TEST(RayJobCleanup, TheNoticeLeavesTheEndTimeAlone) {
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready().ray_says("STOPPED");
  const auto ended = world.job.status.endTime;
  world.job.spec.deletionStrategy = {.deletionRules = {rule("DeleteCluster", 0)}};
  world.pass_time(std::chrono::seconds{60});
  EXPECT_EQ(world.notices(), "CleanupNotApplicable");
  EXPECT_EQ(world.job.status.endTime, ended);
}

TEST(RayJobCleanup, ItsOwnDeletionHasAnEvent) {
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready().ray_says("SUCCEEDED");
  world.job.spec.shutdownAfterJobFinishes = true;
  world.settings.delete_rayjob_cr = true;
  const auto plan = world.look();
  EXPECT_EQ(plan.stages.at(0).at(0).done_event->reason, "DeletedRayJob");
}

}  // namespace
}  // namespace manta::controllers::rayjob
