// RayJobs from their manifest to their end, in the user's words.
#include "rayjob_case_tools.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string state_of(const World& world, std::string_view job = "j") {
  const auto& object = world.get("RayJob", job);
  return fmt::format("{}/{}/{}", string_at(object, {"status", "jobDeploymentStatus"}),
                     string_at(object, {"status", "jobStatus"}),
                     string_at(object, {"status", "reason"}));
}
std::string message_of(const World& world) {
  return std::string(string_at(world.get("RayJob", "j"), {"status", "message"}));
}

TEST(RayJob, RunsToItsEndAndItsClusterGoes) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING")).settle();
  EXPECT_EQ(state_of(world), "Running/RUNNING/");
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  EXPECT_TRUE(world.mirror().find("Job", "j"));
  world.expect_rest();  // polling Ray is no write
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(state_of(world), "Complete/SUCCEEDED/");
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "succeeded"}), 1);
  EXPECT_TRUE(world.mirror().list("RayCluster").empty()) << "shutdownAfterJobFinishes";
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  EXPECT_EQ(world.mirror().created("Job"), 1);
  world.expect_rest();
}

// Found by the simulator: Ray was asked before the submission and not again until the end.
TEST(RayJob, AJobOfASecondIsNotTakenForOneThatNeverWas) {
  World world({.jobs_take = 1s});
  world.apply(kJob).run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(state_of(world), "Complete/SUCCEEDED/");
}

TEST(RayJob, AFailingJobIsFailedWithAppFailed) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "FAILED");
  // Its submitter's own retries (two) follow the same Ray job and fail as it did.
  world.run_until(job_is("j", "Failed"), 20min).settle();
  EXPECT_EQ(state_of(world), "Failed/FAILED/AppFailed");
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 1);
}

TEST(RayJob, ARetryGetsAClusterAJobIdAndASubmitterOfItsOwn) {
  World world;
  world.apply(job_with("  backoffLimit: 1\n  submitterConfig: {backoffLimit: 0}\n"))
      .run_until(ray_job_is("j", "RUNNING"));
  const auto cluster = world.cluster_of("j");
  const auto id = world.id_of("j");
  const auto submitter = uid_of(world.get("Job", "j"));
  world.end_job("j", "FAILED").run_until({"the second attempt runs", [&](const World& w) {
                                            return ray_job_is("j", "RUNNING").holds(w) &&
                                                   w.cluster_of("j") != cluster;
                                          }});
  world.settle();
  EXPECT_NE(world.id_of("j"), id);
  EXPECT_NE(uid_of(world.get("Job", "j")), submitter);
  EXPECT_EQ(world.mirror().list("RayCluster").size(), 1u);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  const auto& job = world.get("RayJob", "j");
  EXPECT_EQ(int_at(job, {"status", "failed"}), 1);
  EXPECT_EQ(int_at(job, {"status", "succeeded"}), 1);
  EXPECT_EQ(world.mirror().created("RayCluster"), 2);
}

TEST(RayJob, RetriesEndWithTheBackoffLimit) {
  World world;
  world.apply(job_with("  backoffLimit: 2\n  submitterConfig: {backoffLimit: 0}\n"));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    world.run_until({fmt::format("attempt {} runs", attempt), [&](const World& w) {
                       return ray_job_is("j", "RUNNING").holds(w) &&
                              w.mirror().created("RayCluster") == attempt;
                     }});
    world.end_job("j", "FAILED");
  }
  world.run_until(job_is("j", "Failed")).settle();
  EXPECT_EQ(state_of(world), "Failed/FAILED/AppFailed");
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 3);
  EXPECT_EQ(world.mirror().created("RayCluster"), 3);
}

TEST(RayJob, SuspendedLosesItsClusterAndResumedStartsAnew) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  const auto cluster = world.cluster_of("j");
  world.patch("RayJob", "j", "{spec: {suspend: true}}")
      .run_until(job_is("j", "Suspended"))
      .settle();
  EXPECT_TRUE(world.mirror().list("Pod").empty());
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
  EXPECT_FALSE(world.mirror().find("Job", "j"));
  world.expect_rest();
  world.patch("RayJob", "j", "{spec: {suspend: false}}").run_until(ray_job_is("j", "RUNNING"));
  EXPECT_NE(world.cluster_of("j"), cluster);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJob, ItsClusterStaysForItsTimeToLive) {
  World world;
  world.apply(job_with("  ttlSecondsAfterFinished: 300\n")).run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete"));
  world.pass(290s);
  EXPECT_EQ(world.mirror().list("RayCluster").size(), 1u);
  world.pass(20s);
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
  world.settle();
  EXPECT_EQ(state_of(world), "Complete/SUCCEEDED/");
}

TEST(RayJob, OneWhosePodsNeverStartStaysInitializingUntilItsDeadline) {
  World world;
  world.kubelet().hold({{"ray.io/node-type", "worker"}});
  world.apply(job_with("  activeDeadlineSeconds: 600\n")).pass(9min);
  EXPECT_EQ(state_of(world), "Initializing//");
  world.run_until(job_is("j", "Failed"), 2min).settle();
  EXPECT_EQ(state_of(world), "Failed//DeadlineExceeded");
  EXPECT_THAT(message_of(world), HasSubstr("activeDeadlineSeconds"));
  EXPECT_TRUE(world.ray().submissions().empty());
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJob, ARestartedOperatorFollowsItOn) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING")).crash().settle();
  EXPECT_EQ(state_of(world), "Running/RUNNING/");
  world.stop_operator();
  world.end_job("j", "SUCCEEDED").pass(1min);
  world.start_operator().run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(state_of(world), "Complete/SUCCEEDED/");
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  EXPECT_EQ(world.ray().submissions().size(), 1u);
}

// Found by rayjob_leak_test: a cluster that may make no other head left its workers as they were.
TEST(RayJob, ItsWorkersGoByARuleThoughItsHeadIsLost) {
  World world;
  auto job = job_with(
      "  submissionMode: SidecarMode\n  deletionStrategy:\n    deletionRules:\n"
      "    - {policy: DeleteWorkers, condition: {jobDeploymentStatus: Failed}}\n");
  job.replace(job.find("  shutdownAfterJobFinishes: true\n"), 33, "");
  world.apply(job).run_until(ray_job_is("j", "RUNNING"));
  const auto cluster = world.cluster_of("j");
  world.run_until(cluster_is(cluster, "ready")).pass(10s);
  world.remove("Pod", world.head(cluster)).run_until(job_is("j", "Failed")).settle();
  EXPECT_TRUE(world.workers(cluster).empty());
  EXPECT_TRUE(world.mirror().find("RayCluster", cluster));
}

TEST(RayJob, DeletedInMidRunTakesEverythingAlong) {
  World world;
  const auto before = world.picture();
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  const auto id = world.id_of("j");
  world.remove("RayJob", "j").settle();
  EXPECT_EQ(difference(before, world.picture()), "");
  EXPECT_EQ(world.ray().stops(), std::vector{id});
}

TEST(RayJob, DeletedWhileRayHangsGoesAllTheSame) {
  World world;
  const auto before = world.picture();
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.remove("RayJob", "j").run_until(is_gone("RayJob", "j"), 1min).settle();
  EXPECT_EQ(difference(before, world.picture()), "");
}

TEST(RayJob, HttpModeSubmitsOnceAndMakesNoJob) {
  World world;
  world.apply(job_with("  submissionMode: HTTPMode\n")).run_until(ray_job_is("j", "RUNNING"));
  EXPECT_FALSE(world.mirror().find("Job", "j"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(world.ray().submissions().size(), 1u);
}

TEST(RayJob, RayAnsweringErrorsForAWhileDoesNotHarmIt) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.ray().mood = RayDashboardDouble::Mood::ServerError;
  world.pass(2min);
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.pass(2min);
  EXPECT_EQ(state_of(world), "Running/RUNNING/");
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete"), 3min).settle();
  EXPECT_EQ(state_of(world), "Complete/SUCCEEDED/");
}

TEST(RayJob, RaySilentForFiveMinutesIsAFailure) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.run_until(job_is("j", "Failed"), 6min).settle();
  EXPECT_EQ(state_of(world), "Failed/RUNNING/JobStatusCheckTimeoutExceeded");
}

TEST(RayJob, OnAnExistingClusterItLeavesThatClusterAlone) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world
      .apply(R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec: {entrypoint: python a.py, clusterSelector: {ray.io/cluster: c}}
)")
      .run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  world.remove("RayJob", "j").settle();
  EXPECT_TRUE(world.mirror().find("RayCluster", "c"));
}

}  // namespace
}  // namespace manta::integration
