#include "controllers/rayjob/plan.h"

#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::World;

TEST(RayJob, RunsToItsEnd) {
  World world;
  world.settle();
  EXPECT_EQ(world.written(), "patch rayjobs, create rayclusters");
  EXPECT_EQ(world.state(), "Initializing//");
  world.ready();
  EXPECT_EQ(world.written(), "create jobs, create services");
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.job.status.dashboardURL,
            world.cluster->meta.key.name + "-head-svc.ns.svc.cluster.local:8265");
  world.ray_says("RUNNING");
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Running/SUCCEEDED/");  // the submitter still streams logs
  world.submitter_ends();
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_EQ(world.job.status.succeeded, 1);
  EXPECT_EQ(world.written(), "delete rayclusters");  // the submitter's logs stay readable
}

TEST(RayJobRetry, SecondAttemptGetsItsOwnCluster) {
  World world;
  world.job.spec.backoffLimit = 1;
  world.ready();
  const auto first = world.job.status.rayClusterName;
  world.written();
  world.now += std::chrono::seconds{60};
  world.facts["job-info"] = {.answer = parse_json(R"({"status":"FAILED"})").value(),
                             .at = world.now};
  world.submitter_ends();
  EXPECT_EQ(world.written(), "delete rayclusters, delete jobs, create rayclusters");
  EXPECT_NE(world.job.status.rayClusterName, first);
  EXPECT_EQ(world.state(), "Initializing//");
  EXPECT_EQ(world.job.status.failed, 1);
  world.facts.clear();
  world.ready().ray_says("SUCCEEDED").submitter_ends();
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_EQ(world.job.status.failed, 1);
  EXPECT_EQ(world.job.status.succeeded, 1);
}

TEST(RayJobMode, OneThatIsUnknownIsTold) {
  World world;
  world.job.spec.submissionMode = "Http";
  EXPECT_EQ(world.look().events.at(0).reason, "UnknownSubmissionMode");
  world.ready();
  EXPECT_EQ(world.state(), "Running//");
  const auto* told = ray::find_condition(world.job.status.conditions, "UnknownSubmissionMode");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->message,
            "nobody submits the job: spec.submissionMode is \"Http\", which is none of "
            "K8sJobMode, HTTPMode, InteractiveMode, SidecarMode");
  EXPECT_TRUE(world.look().events.empty());
}

TEST(RayJobValidation, InvalidSpecIsSaidAndRecoversWhenPutRight) {  // RJ-20
  World world;
  world.job.spec.ttlSecondsAfterFinished = -1;
  EXPECT_EQ(world.look().events.at(0).reason, "InvalidRayJobSpec");
  world.settle();
  EXPECT_EQ(world.state(), "ValidationFailed//ValidationFailed");
  EXPECT_FALSE(world.look().look_again);
  world.job.spec.ttlSecondsAfterFinished = 0;
  world.ready();
  EXPECT_EQ(world.state(), "Running//");
}

TEST(RayJobDeletion, StopsTheJobThenLetsGo) {
  World world;
  world.ready().ray_says("RUNNING");
  world.written();
  world.job.meta.deleting = world.now;
  world.settle();
  EXPECT_EQ(world.written(), "call stop-job, patch rayjobs");
}

TEST(RayJobDeletion, AsksRayOfAClusterThatHasJustGoneTooButNotOfAUsersThatIsGone) {
  World own("HTTPMode");
  own.ready().ray_says("RUNNING");
  own.cluster.reset();
  own.written();
  own.job.meta.deleting = own.now;
  own.settle();
  EXPECT_EQ(own.written(), "call stop-job, patch rayjobs");

  World selecting("HTTPMode");
  selecting.ready().ray_says("RUNNING");
  selecting.job.spec.clusterSelector = {{"ray.io/cluster", "shared"}};
  selecting.cluster.reset();
  selecting.written();
  selecting.job.meta.deleting = selecting.now;
  selecting.settle();
  EXPECT_EQ(selecting.written(), "patch rayjobs");
}

TEST(RayJobDeletion, FinishedJobIsNotStopped) {
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready().ray_says("SUCCEEDED");
  world.written();
  world.job.meta.deleting = world.now;
  world.settle();
  EXPECT_EQ(world.written(), "patch rayjobs");
}

TEST(RayJobLaw, ASettledWorldsPlanIsEmpty) {
  for (auto mode : {"K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"}) {
    World world(mode);
    world.ready().ray_says("RUNNING");
    const auto plan = world.look();
    EXPECT_TRUE(plan.stages.empty()) << mode;
    EXPECT_FALSE(plan.status) << mode;
  }
}

TEST(RayJobInvalidUpdate, LeavesTheLastValidSpecInForce) {
  World world;
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready().ray_says("RUNNING");
  world.last_valid = std::make_shared<const ray::RayJob>(world.job);
  world.job.spec.suspend = true;
  world.settle();
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  EXPECT_EQ(world.notices(), "InvalidUpdate");
  world.job.spec.suspend = false;
  world.settle();
  EXPECT_EQ(world.notices(), "");
  world.ray_says("SUCCEEDED").submitter_ends();
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
}

TEST(RayJobInvalidUpdate, KeepsTheCleanUpThatWasAskedFor) {
  World world("HTTPMode");
  world.ready().ray_says("RUNNING");
  world.last_valid = std::make_shared<const ray::RayJob>(world.job);
  world.job.spec.ttlSecondsAfterFinished = -1;
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_FALSE(world.cluster);
}

TEST(RayJobInvalidUpdate, AfterARestartDeletesNothing) {
  World world("HTTPMode");
  world.ready().ray_says("RUNNING");
  world.job.spec.ttlSecondsAfterFinished = -1;
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_TRUE(world.cluster);
  world.job.spec.ttlSecondsAfterFinished = 0;
  world.settle();
  EXPECT_FALSE(world.cluster);
}

TEST(RayJobGate, ReuseCluster) {  // RJ-41
  World world("HTTPMode");
  world.settings.job_gates.reuse_cluster = true;
  world.job.spec.backoffLimit = 2;
  world.job.spec.retryStrategy = "ReuseRayCluster";
  world.job.spec.jobId = "mine";
  world.ready();
  const auto cluster = world.job.status.rayClusterName;
  std::vector<std::string> ids{world.job.status.jobId};
  for (int n = 0; n < 2; ++n) {
    world.facts["job-info"] = {.answer = parse_json(R"({"status":"FAILED"})").value(),
                               .at = world.now};
    for (int pass = 0; pass < 40; ++pass) {
      const auto wanted = world.look();
      for (const auto& stage : wanted.stages)
        for (const auto& write : stage) world.make(write);
      if (!wanted.status) continue;
      world.job.status =
          ray::parse_part<ray::RayJobStatus>(wanted.status->body.at("status"), "status").value();
      if (world.job.status.jobDeploymentStatus.empty()) world.facts.clear();
      if (world.job.status.jobDeploymentStatus == "Running" && world.facts.empty()) break;
    }
    ids.push_back(world.job.status.jobId);
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"mine", "mine-2", "mine-3"}));
  EXPECT_EQ(world.job.status.rayClusterName, cluster);
  world.settle().ray_says("SUCCEEDED");
  EXPECT_EQ(world.job.status.failed, 2);
  EXPECT_EQ(world.job.status.succeeded, 1);
}

}  // namespace
}  // namespace manta::controllers::rayjob
