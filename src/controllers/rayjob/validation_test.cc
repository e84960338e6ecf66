// Which rules there are: ray/validation_job_test.cc. Here: what becomes of a RayJob that breaks
// one.
#include "controllers/rayjob/validation.h"

#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::World;

TEST(RayJobProblem, HasTheReasonOfWhatIsWrong) {
  World world;
  EXPECT_FALSE(validate(world.job, world.settings));
  world.job.spec.ttlSecondsAfterFinished = -1;
  EXPECT_EQ(validate(world.job, world.settings)->reason, "InvalidRayJobSpec");
  world.job.meta.key.name = "1j";  // the name is looked at first
  EXPECT_EQ(validate(world.job, world.settings)->reason, "InvalidRayJobMetadata");
  World waiting;
  waiting.job.status.jobDeploymentStatus = "Waiting";
  EXPECT_EQ(validate(waiting.job, waiting.settings)->reason, "InvalidRayJobStatus");
}

TEST(RayJobGoesOn, WithTheLastValidSpecElseWithoutWhatEndsAnything) {
  World world;
  world.job.spec.ttlSecondsAfterFinished = 10;
  world.job.spec.backoffLimit = 3;
  world.last_valid = std::make_shared<const ray::RayJob>(world.job);
  world.job.spec.ttlSecondsAfterFinished = -1;
  world.job.spec.suspend = true;
  world.job.spec.activeDeadlineSeconds = 0;
  world.job.spec.preRunningDeadlineSeconds = 60;
  EXPECT_EQ(spec_to_go_on_with(world.seen()).ttlSecondsAfterFinished, 10);
  world.last_valid.reset();
  const auto spec = spec_to_go_on_with(world.seen());
  EXPECT_FALSE(spec.suspend);
  EXPECT_FALSE(spec.shutdownAfterJobFinishes);
  EXPECT_FALSE(spec.backoffLimit);
  EXPECT_FALSE(spec.activeDeadlineSeconds);
  EXPECT_EQ(spec.preRunningDeadlineSeconds, 60);
  EXPECT_EQ(spec.entrypoint, "python a.py");
}

// Another operator took an invalid edit for the end: what had ended has, and counts once. RJ-21
TEST(RayJobThatWasInvalid, KeepsItsEndWhenItIsMended) {
  struct Case {
    const char* ray;
    const char* deployment;
  };
  for (const auto& [ray, deployment] : {Case{"SUCCEEDED", "Complete"},
                                        {"STOPPED", "Complete"},
                                        {"FAILED", "Failed"},
                                        {"RUNNING", "Failed"},
                                        {"", "Failed"}}) {
    SCOPED_TRACE(ray);
    World world("HTTPMode");
    world.job.spec.backoffLimit = 3;
    world.job.spec.ttlSecondsAfterFinished = 60;
    world.ready();
    const auto ended = world.now;
    world.job.status.jobDeploymentStatus = "ValidationFailed";
    world.job.status.jobStatus = ray;
    world.job.status.endTime = ended;
    world.job.status.failed = 1;
    world.job.status.succeeded = 1;
    world.pass_time(std::chrono::seconds{30});
    EXPECT_EQ(world.job.status.jobDeploymentStatus, deployment);
    EXPECT_EQ(world.job.status.endTime, ended);
    EXPECT_EQ(world.job.status.failed, 1);
    EXPECT_EQ(world.job.status.succeeded, 1);
    EXPECT_TRUE(world.cluster);
    world.pass_time(std::chrono::seconds{30});
    EXPECT_FALSE(world.cluster) << "its time counts from its end";
  }
}

TEST(RayJobThatWasInvalid, GoesOnWhereItWas) {
  World world;
  world.ready().ray_says("RUNNING");
  const auto cluster = world.job.status.rayClusterName;
  world.job.status.jobDeploymentStatus = "ValidationFailed";
  world.settle();
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  EXPECT_EQ(world.job.status.rayClusterName, cluster);
}

}  // namespace
}  // namespace manta::controllers::rayjob
