// New, Initializing, Waiting, and what is taken down.
#include "controllers/rayjob/states.h"
#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::troubled;
using testing::World;

TEST(RayJobSuspend, TakesEverythingDownAndStartsAnew) {
  World world;
  world.ready().ray_says("RUNNING");
  const auto first = world.job.status;
  world.written();
  world.job.spec.suspend = true;
  world.settle();
  EXPECT_EQ(world.state(), "Suspended//");
  EXPECT_EQ(world.written(), "delete rayclusters, delete jobs");
  EXPECT_EQ(world.job.status.rayClusterName, "");
  EXPECT_FALSE(world.look().look_again);  // RJ-23: nothing to poll
  world.facts.clear();
  world.now += std::chrono::seconds{60};
  world.job.spec.suspend = false;
  world.ready();
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_NE(world.job.status.jobId, first.jobId);
  EXPECT_NE(world.job.status.rayClusterName, first.rayClusterName);
}

TEST(RayJobInteractive, WaitsForTheUsersJob) {
  World world("InteractiveMode");
  world.ready();
  EXPECT_EQ(world.state(), "Waiting//");
  EXPECT_EQ(world.job.status.jobId, "");
  world.job.spec.jobId = "mine";
  world.settle().ray_says("STOPPED");
  EXPECT_EQ(world.state(), "Complete/STOPPED/");
  EXPECT_EQ(world.job.status.succeeded, 0);
}

// The cluster was up and has lost its head before the RayJob looked: upstream waits for ever.
TEST(RayJobSidecar, HeadLostBeforeItWasSeenReadyFailsIt) {
  const auto lost = [](std::string_view mode, bool provisioned, bool head_known, bool suspended) {
    World world(mode);
    world.settle();
    world.heads.clear();
    if (suspended) world.cluster->spec.suspend = true;
    const std::string_view is_provisioned = provisioned ? "True" : "False";
    world.cluster->status.conditions = {
        {.type = "RayClusterProvisioned", .status = std::string(is_provisioned)},
        {.type = "HeadPodReady",
         .status = "False",
         .reason = head_known ? "ContainersNotReady" : "HeadPodNotFound"}};
    return world.settle().state();
  };
  EXPECT_EQ(lost("SidecarMode", true, false, false), "Failed//AppFailed");
  EXPECT_EQ(lost("SidecarMode", false, false, false), "Initializing//");  // its first head comes
  EXPECT_EQ(lost("SidecarMode", true, true, false), "Initializing//");    // our news are older
  EXPECT_EQ(lost("SidecarMode", true, false, true), "Initializing//");    // comes when it wakes
  EXPECT_EQ(lost("HTTPMode", true, false, false), "Initializing//");      // another head comes
}

TEST(RayJobSelector, MissingClusterIsSaidAndNotMade) {
  World world("HTTPMode");
  world.job.spec.rayClusterSpec.reset();
  world.job.spec.clusterSelector = {{"ray.io/cluster", "shared"}};
  world.settle();
  EXPECT_EQ(world.state(), "Initializing//");
  EXPECT_EQ(world.job.status.rayClusterName, "shared");
  EXPECT_EQ(world.look().events.at(0).reason, "RayClusterNotFound");
  EXPECT_EQ(world.written(), "patch rayjobs");
}

TEST(RayJobObstacle, IsTheHeadsWordsBeforeAWorkers) {
  World world;
  world.settle();
  EXPECT_EQ(world.job.status.message, "");
  world.workers = {troubled(raycluster::testing::worker("w-1"), "Unschedulable: no GPU")};
  world.settle();
  EXPECT_EQ(world.job.status.message, "Pod w-1: Unschedulable: no GPU");
  world.heads = {troubled(raycluster::testing::head(), "container ray is waiting: ErrImagePull")};
  world.settle();
  EXPECT_EQ(world.job.status.message, "Pod c-head: container ray is waiting: ErrImagePull");
  world.heads = {raycluster::testing::head()};
  world.ready();
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.job.status.message, "");
}

TEST(RayJobObstacle, IsTheQuotaThatTheClusterMet) {
  World world;
  world.settle();
  world.cluster->status.conditions = {
      {.type = "ReplicaFailure", .status = "True", .message = "exceeded quota: pods"}};
  world.settle();
  EXPECT_NE(world.job.status.message.find("exceeded quota: pods"), std::string::npos);
}

TEST(RayJobObstacle, IsTheApiServersRefusalOfTheSubmitter) {  // RJ-32
  World world;
  world.failures = {{"submitter", {.error = {.message = "restartPolicy: Unsupported value"}}}};
  world.ready();
  EXPECT_EQ(world.state(), "Initializing//");
  EXPECT_EQ(world.job.status.message,
            "creating the submitter Job j: restartPolicy: Unsupported value");
  EXPECT_EQ(world.job.status.dashboardURL, "") << "told with the move to Running";
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobObstacle, IsAForeignJobOfItsName) {  // RJ-09
  World world;
  world.failures = {
      {"submitter", {.error = {.code = ErrorCode::AlreadyExists, .message = "exists"}}}};
  world.ready();
  EXPECT_EQ(world.notices(), "NameConflict");
  world.failures.clear();
  world.settle();
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobObstacle, OfTheSubmitterIsACondition) {
  World world;
  world.ready();
  world.submitter_pods = {
      troubled(raycluster::testing::worker("j-abcde"), "container s is waiting: ImagePullBackOff")};
  world.ray_fails(ErrorCode::NotFound);
  EXPECT_EQ(world.notices(), "SubmitterTrouble");
  world.ray_says("RUNNING");
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobObstacle, IsACommandThatCannotBeBuilt) {  // no event, as upstream
  World world;
  world.job.spec.metadata = {{"a", "b"}};
  world.job.spec.rayClusterSpec->rayVersion = "2.5.0";
  world.ready();
  EXPECT_EQ(world.state(), "Initializing//");
  EXPECT_EQ(world.job.status.message,
            "the Ray version must be at least 2.6.0 to use the metadata field");
  EXPECT_TRUE(world.look().events.empty());
}

}  // namespace
}  // namespace manta::controllers::rayjob
