// What users of the reference ran into with the deadlines and the attempts of RayJobs. Each test
// has its case's id.
#include "rayjob_case_tools.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(RayJobCase, RJ_04_EachLostHeadIsAnAttempt) {
  World world({.feature_gates = "RayJobCountLostHeads=true"});
  world.apply(job_with("  submissionMode: HTTPMode\n  backoffLimit: 1\n"));
  for (int attempt = 1; attempt <= 2; ++attempt) {
    world.run_until({fmt::format("attempt {} runs", attempt), [&](const World& w) {
                       return ray_job_is("j", "RUNNING").holds(w) &&
                              w.mirror().created("RayCluster") == attempt;
                     }});
    world.pass(30s).kubelet().fail(world.head(world.cluster_of("j")));
  }
  world.run_until(job_is("j", "Failed")).settle();
  EXPECT_EQ(status(world, "reason"), "AppFailed");
  EXPECT_EQ(world.ray().submissions().size(), 2u);
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 2);
}

TEST(RayJobCase, RJ_10_ASilentDashboardOfAHealthyHeadFailsNothing) {
  World world({.feature_gates = "RayJobPatience=true"});
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.run_until(job_has("DashboardSilent"), 6min).pass(5min);
  EXPECT_EQ(deployment(world), "Running");
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_FALSE(has_condition(world, "DashboardSilent"));
}

TEST(RayJobCase, RJ_11_AtItsDeadlineTheJobIsStopped) {
  World world({.feature_gates = "RayJobStopAtDeadline=true"});
  world.apply(kept_job() + "  activeDeadlineSeconds: 120\n").run_until(ray_job_is("j", "RUNNING"));
  world.run_until(job_is("j", "Failed"), 3min).settle();
  EXPECT_EQ(status(world, "reason"), "DeadlineExceeded");
  EXPECT_EQ(status(world, "jobStatus"), "STOPPED");
  EXPECT_EQ(world.ray().stops().size(), 1u);
}

TEST(RayJobCase, RJ_17_ATotalDeadlineSpansAllAttempts) {
  World world({.feature_gates = "RayJobTotalDeadline=true"});
  world.apply(
      job_with("  submissionMode: HTTPMode\n  activeDeadlineSeconds: 90\n"
               "  backoffLimit: 9\n"));
  const auto start = world.loop().now();
  while (deployment(world) != "Failed" && world.loop().now() < start + 10min) {
    world.pass(1s);
    if (status(world, "jobStatus") != "RUNNING") continue;
    world.pass(50s);
    if (status(world, "jobStatus") == "RUNNING") world.end_job("j", "FAILED");
  }
  EXPECT_LT(world.loop().now() - start, 2min);
  EXPECT_EQ(status(world, "reason"), "DeadlineExceeded");
  world.settle();
}

TEST(RayJobCase, RJ_18_TheUsersTimeBeginsWhenTheClusterIsReady) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayJobWaitingWindow=true" : ""});
    world.kubelet().hold({{"ray.io/node-type", "worker"}});
    world.apply(job_with("  submissionMode: InteractiveMode\n  preRunningDeadlineSeconds: 60\n"))
        .pass(50s);
    world.kubelet().release();
    world.run_until(job_is("j", "Waiting"), 9s).pass(15s);
    EXPECT_EQ(deployment(world), gate ? "Waiting" : "Failed");
    world.run_until(job_is("j", "Failed"), 1min).settle();
    EXPECT_EQ(status(world, "reason"), "PreRunningDeadlineExceeded");
  }
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

TEST(RayJobCase, RJ_34_ARetryOfItGetsAnotherCluster) {
  World world;
  world.apply(job_with("  submissionMode: SidecarMode\n  backoffLimit: 1\n"));
  world.run_until(ray_job_is("j", "RUNNING"));
  const auto first = world.cluster_of("j");
  const auto uid = uid_of(world.get("Pod", world.head(first)));
  world.remove("Pod", world.head(first)).run_until({"the second attempt runs", [&](const World& w) {
                                                      return ray_job_is("j", "RUNNING").holds(w) &&
                                                             w.cluster_of("j") != first;
                                                    }});
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 1);
  EXPECT_FALSE(world.mirror().find("RayCluster", first));
  EXPECT_EQ(world.mirror().created("RayCluster"), 2);
  EXPECT_NE(uid_of(world.get("Pod", world.head(world.cluster_of("j")))), uid);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_37_AHeadThatCannotInitialiseFailsTheJob) {
  World world({.feature_gates = "RayJobHeadInitFailure=true"});
  world.kubelet().hold({{"ray.io/node-type", "head"}});
  world.apply(job_with(""));
  for (int n = 0; n < 3; ++n) {
    std::string head;
    world.run_until({"a head that has not failed",
                     [&](const World& w) {
                       head = w.cluster_of("j").empty() ? "" : w.head(w.cluster_of("j"));
                       return !head.empty() &&
                              string_at(w.get("Pod", head), {"status", "phase"}) != "Failed";
                     }},
                    30min);
    world.pass(100ms);  // an init container runs for a moment
    set_pod_status(world, head,
                   "{phase: Failed, initContainerStatuses: [{name: setup, state: {terminated: "
                   "{exitCode: 42, reason: Error}}}]}");
    world.pass(1s);
  }
  world.run_until(job_is("j", "Failed"));
  EXPECT_THAT(status(world, "message"), HasSubstr("init container setup exited with code 42"));
}

TEST(RayJobCase, RJ_41_RetriesStayOnTheCluster) {
  World world({.feature_gates = "RayJobReuseCluster=true"});
  world.apply(
      job_with("  submissionMode: HTTPMode\n  backoffLimit: 2\n"
               "  retryStrategy: ReuseRayCluster\n"));
  for (std::size_t attempt = 1; attempt <= 3; ++attempt) {
    world.run_until({fmt::format("attempt {} runs", attempt), [&](const World& w) {
                       return ray_job_is("j", "RUNNING").holds(w) &&
                              w.ray().submissions().size() == attempt;
                     }});
    world.end_job("j", attempt < 3 ? "FAILED" : "SUCCEEDED");
  }
  world.run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  const std::set<std::string> ids(world.ray().submissions().begin(),
                                  world.ray().submissions().end());
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 2);
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "succeeded"}), 1);
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJobCase, RJ_41_AHeadThatIsLostBetweenTriesMakesItAnotherCluster) {
  World world({.feature_gates = "RayJobReuseCluster=true"});
  world
      .apply(job_with("  submissionMode: HTTPMode\n  backoffLimit: 1\n"
                      "  retryStrategy: ReuseRayCluster\n"))
      .run_until(ray_job_is("j", "RUNNING"));
  const auto first = world.cluster_of("j");
  world.stop_operator().end_job("j", "FAILED");
  world.kubelet().fail(world.head(first));
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.start_operator().run_until({"the second attempt runs", [&](const World& w) {
                                      return ray_job_is("j", "RUNNING").holds(w) &&
                                             w.ray().submissions().size() == 2;
                                    }});
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
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

// The records rj-* of the conformance suite pin these ways of the reference, and no case asks for
// better.
TEST(RayJobCase, SEEN_39_ADeletedClusterIsMadeAgainUnderItsName) {
  World world;
  world.apply(job_with("  submissionMode: HTTPMode\n")).run_until(ray_job_is("j", "RUNNING"));
  const auto cluster = world.cluster_of("j");
  const auto uid = uid_of(world.get("RayCluster", cluster));
  const auto id = world.id_of("j");
  world.remove("RayCluster", cluster)
      .run_until({"it is there again and has the job", [&](const World& w) {
                    const auto* again = w.mirror().find("RayCluster", cluster);
                    return again && uid_of(*again) != uid && w.ray().submissions().size() == 2;
                  }});
  EXPECT_EQ(world.ray().submissions(), (std::vector{id, id}));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, SEEN_39_AnActiveDeadlineIsFinalAndCountsFromEachStart) {
  World world;
  world.apply(job_with("  activeDeadlineSeconds: 120\n  backoffLimit: 2\n"))
      .run_until(ray_job_is("j", "RUNNING"))
      .run_until(job_is("j", "Failed"), 3min)
      .settle();
  EXPECT_EQ(status(world, "reason"), "DeadlineExceeded");
  EXPECT_EQ(status(world, "jobStatus"), "RUNNING");
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 1);
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
}

}  // namespace
}  // namespace manta::integration
