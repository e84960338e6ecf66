// What users of the reference ran into with RayJobs. Each test has its case's id.
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using kube::CallFault;
using ::testing::Contains;
using ::testing::HasSubstr;

std::string job_with(std::string_view lines) { return std::string(kJob) + std::string(lines); }
std::string deployment(const World& world) {
  return std::string(string_at(world.get("RayJob", "j"), {"status", "jobDeploymentStatus"}));
}

TEST(RayJobCase, RJ_01_AStatusConflictSubmitsOnce) {
  World world;
  world.faults().on_write = [done = false](std::size_t, const kube::Request& request) mutable {
    const bool hit = !done && request.resource.kind == "RayJob" &&
                     request.subresource == "status" &&
                     string_at(request.body, {"status", "jobStatus"}) == "RUNNING";
    done = done || hit;
    return hit ? CallFault::Conflict : CallFault::None;
  };
  world.apply(job_with("  submissionMode: HTTPMode\n")).run_until(ray_job_is("j", "RUNNING"));
  EXPECT_EQ(world.injected().size(), 1u);
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_02_ALostSubmitterAndADeathMakeOneJob) {
  World world;
  world.faults().on_write = [seen = 0](std::size_t, const kube::Request& request) mutable {
    if (request.resource != kube::kJobs) return CallFault::None;
    return ++seen == 1 ? CallFault::LostReply : CallFault::None;
  };
  world.apply(kJob).run_until(exists("Job", "j")).crash().run_until(ray_job_is("j", "RUNNING"));
  EXPECT_EQ(world.mirror().created("Job"), 1);
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_07_ADeletedSubmitterPodSubmitsNothingAgain) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING")).settle();
  const auto first = world.submitter_pod("j");
  world.remove("Pod", first).run_until({"another submitter Pod follows", [&](const World& w) {
                                          const auto pod = w.submitter_pod("j");
                                          return !pod.empty() && pod != first;
                                        }});
  world.settle();
  EXPECT_EQ(deployment(world), "Running");
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_09_AForeignJobOfThatNameIsNeverTouched) {
  World world;
  world
      .apply(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
)")
      .settle();
  const auto uid = uid_of(world.get("Job", "j"));
  world.apply(kJob).pass(2min);
  EXPECT_EQ(uid_of(world.get("Job", "j")), uid);
  EXPECT_THAT(world.events("j"), Contains(HasSubstr("FailedToCreateRayJobSubmitter")));
  world.remove("RayJob", "j").run_until(is_gone("RayJob", "j")).settle();
  EXPECT_EQ(uid_of(world.get("Job", "j")), uid);
}

TEST(RayJobCase, RJ_14_AfterALongAbsenceOnlyTheLastRuleIsCarriedOut) {
  World world;
  auto job = std::string(kJob);
  job.replace(job.find("  shutdownAfterJobFinishes: true\n"), 33, "");
  world.apply(job + R"(  deletionStrategy:
    deletionRules:
    - {policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED, ttlSeconds: 10}}
    - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED, ttlSeconds: 60}}
    - {policy: DeleteSelf, condition: {jobStatus: SUCCEEDED, ttlSeconds: 600}}
)");
  world.run_until(ray_job_is("j", "RUNNING")).end_job("j", "SUCCEEDED");
  world.run_until(job_is("j", "Complete")).stop_operator().pass(700s);
  const auto before = world.writes().size();
  world.start_operator().run_until(is_gone("RayJob", "j"));
  std::vector<std::string> deletions;
  for (auto at = before; at < world.writes().size(); ++at)
    if (world.writes()[at].verb == kube::Verb::Delete || world.writes()[at].kind == "RayCluster")
      deletions.push_back(world.writes()[at].to_string());
  EXPECT_EQ(deletions, std::vector<std::string>{"delete RayJob default/j"});
  world.pass(1min);
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJobCase, RJ_15_DeletedWhileRayHangsItIsStoppedAsSoonAsRayAnswers) {
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
  const auto id = world.id_of("j");
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.remove("RayJob", "j").pass(20s);
  EXPECT_TRUE(world.mirror().find("RayJob", "j")) << "it still tries";
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.run_until(is_gone("RayJob", "j"), 40s).settle();
  EXPECT_EQ(world.ray().stops(), std::vector{id});
}

TEST(RayJobCase, RJ_15_ButNotForEver) {
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
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.remove("RayJob", "j").run_until(is_gone("RayJob", "j"), 70s).settle();
}

TEST(RayJobCase, RJ_20_ACorrectedSpecStarts) {
  World world;
  world.apply(job_with("  backoffLimit: -1\n")).run_until(job_is("j", "ValidationFailed")).settle();
  world.expect_rest();
  world.patch("RayJob", "j", "{spec: {backoffLimit: 0}}").run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_23_ASuspendedOneIsLeftInPeace) {
  World world;
  world.apply(job_with("  suspend: true\n")).run_until(job_is("j", "Suspended")).settle();
  const auto asked = world.ray().calls();
  world.expect_rest();
  EXPECT_EQ(world.ray().calls(), asked);
}

TEST(RayJobCase, RJ_27_StartsWithinASecondOfTheClusterItWaitedFor) {
  World world;
  world
      .apply(R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec: {entrypoint: python a.py, clusterSelector: {ray.io/cluster: c}}
)")
      .pass(2min);
  int told = 0;
  for (const auto& event : world.events("j")) told += event.starts_with("RayClusterNotFound");
  EXPECT_EQ(told, 1);
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.run_until(exists("Job", "j"), 1s).run_until(ray_job_is("j", "RUNNING"));
}

TEST(RayJobCase, RJ_34_InSidecarModeALostHeadFailsTheJobAndNoneFollows) {
  World world;
  world.apply(job_with("  submissionMode: SidecarMode\n"));
  world.run_until({"the cluster is ready",
                   [](const World& w) { return cluster_is(w.cluster_of("j"), "ready").holds(w); }});
  world.pass(10s);
  world.remove("Pod", world.head(world.cluster_of("j"))).run_until(job_is("j", "Failed")).settle();
  EXPECT_EQ(string_at(world.get("RayJob", "j"), {"status", "reason"}), "AppFailed");
  int heads = 0;
  for (const auto& write : world.writes())
    heads += write.verb == kube::Verb::Create &&
             write.key.name.find("-head-") != std::string::npos && write.kind == "Pod";
  EXPECT_EQ(heads, 1);
}

TEST(RayJobCase, RJ_42_APreRunningDeadlineIsRetriedAsAnyFailure) {
  World world;
  world.kubelet().hold({{"ray.io/node-type", "worker"}});
  world.apply(job_with("  preRunningDeadlineSeconds: 60\n  backoffLimit: 1\n"))
      .run_until(job_is("j", "Failed"))
      .settle();
  EXPECT_EQ(world.mirror().created("RayCluster"), 2);
  EXPECT_EQ(string_at(world.get("RayJob", "j"), {"status", "reason"}),
            "PreRunningDeadlineExceeded");
}

}  // namespace
}  // namespace manta::integration
