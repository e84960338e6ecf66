// RayClusters from their manifest to their end, in the user's words.
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string group_of(int replicas) { return fmt::format(fmt::runtime(kGroup), replicas); }

TEST(RayCluster, BecomesReadyAndThenNothingIsWritten) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
  EXPECT_EQ(world.mirror().created("Pod"), 3);
  const auto& cluster = world.get("RayCluster", "c");
  EXPECT_EQ(int_at(cluster, {"status", "readyWorkerReplicas"}), 2);
  EXPECT_EQ(string_at(cluster, {"status", "head", "podName"}), world.head("c"));
  EXPECT_EQ(condition_of(cluster, "HeadPodReady"), "True HeadPodRunningAndReady");
  EXPECT_EQ(condition_of(cluster, "RayClusterProvisioned"), "True AllPodRunningAndReadyFirstTime");
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("CreatedHeadPod")));
  world.expect_rest();
}

// Pods that become ready one after the other, the head among them: one status when all are made,
// and one when all are ready.
TEST(RayCluster, PodsThatBecomeReadyTogetherAreFewStatuses) {
  World world;
  world.kubelet().start_takes = [started = 0](const Json&) mutable {
    return 1s + started++ * 30ms;
  };
  world.apply(kCluster)
      .patch("RayCluster", "c", group_of(3))
      .run_until(cluster_is("c", "ready"))
      .settle();
  std::string statuses;
  for (const auto& write : world.writes())
    if (write.kind == "RayCluster") statuses += write.to_string() + "\n";
  EXPECT_EQ(std::ranges::count(statuses, '\n'), 2) << statuses;
  EXPECT_EQ(int_at(world.get("RayCluster", "c"), {"status", "readyWorkerReplicas"}), 3);
}

TEST(RayCluster, AHeadThatIsReadyBeforeItsWorkersIsToldWithinASecond) {
  World world;
  world.kubelet().hold({{"ray.io/group", "g"}});
  world.apply(kCluster).run_until(exists("Service", "c-head-svc")).pass(1s);
  world.run_until({"the head is ready", [](const World& w) {
                     const auto head = w.head("c");
                     return !head.empty() && phase_of(w.get("Pod", head)) == "Running";
                   }});
  world.pass(1100ms);
  EXPECT_EQ(condition_of(world.get("RayCluster", "c"), "HeadPodReady"),
            "True HeadPodRunningAndReady");
  world.settle();
}

TEST(RayCluster, AStartedOperatorFindsASettledWorldAndWritesNothing) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto before = world.writes().size();
  world.crash().settle();
  EXPECT_EQ(world.writes().size(), before);
}

TEST(RayCluster, ScalesUpAndDown) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.patch("RayCluster", "c", group_of(5)).run_until(has_workers("c", 5)).settle();
  EXPECT_EQ(int_at(world.get("RayCluster", "c"), {"status", "desiredWorkerReplicas"}), 5);
  world.patch("RayCluster", "c", group_of(1)).run_until(has_workers("c", 1)).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 6);
  world.patch("RayCluster", "c", group_of(0)).settle().expect_rest();
  EXPECT_TRUE(world.workers("c").empty());
  EXPECT_FALSE(world.head("c").empty());
}

TEST(RayCluster, AFailedAndAnEvictedWorkerAreEachReplacedOnce) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.kubelet().fail(world.workers("c").at(0), "OOMKilled");
  world.settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
  EXPECT_EQ(world.mirror().created("Pod"), 4);
  world.kubelet().evict(world.workers("c").at(1));
  world.settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
  EXPECT_EQ(world.mirror().created("Pod"), 5);
}

TEST(RayCluster, ADeletedWorkerIsReplaced) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto lost = world.workers("c").at(0);
  world.remove("Pod", lost).settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
  EXPECT_THAT(world.workers("c"), Not(Contains(lost)));
  EXPECT_EQ(world.mirror().created("Pod"), 4);
}

TEST(RayCluster, ALostHeadIsReplacedExactlyOnce) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto first = world.head("c");
  world.kubelet().evict(first);
  world.settle();
  EXPECT_NE(world.head("c"), first);
  EXPECT_FALSE(world.head("c").empty());
  EXPECT_EQ(world.mirror().created("Pod"), 4) << "the workers stay";
  world.remove("Pod", world.head("c")).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 5);
  EXPECT_EQ(string_at(world.get("RayCluster", "c"), {"status", "head", "podName"}),
            world.head("c"));
}

TEST(RayCluster, NoSecondHeadWhileTheFirstHangsInItsDeletion) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto first = world.head("c");
  world.kubelet().hang(first);
  world.remove("Pod", first).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 3);
  world.kubelet().unhang(first);
  world.settle();
  EXPECT_EQ(world.mirror().created("Pod"), 4);
  EXPECT_FALSE(world.head("c").empty());
}

TEST(RayCluster, SuspendedHasNoPodsAndResumedHasThemAll) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.patch("RayCluster", "c", "{spec: {suspend: true}}")
      .run_until(cluster_is("c", "suspended"))
      .settle();
  EXPECT_TRUE(world.mirror().list("Pod").empty());
  EXPECT_EQ(condition_of(world.get("RayCluster", "c"), "RayClusterSuspended"),
            "True RayClusterSuspended");
  world.expect_rest();
  world.patch("RayCluster", "c", "{spec: {suspend: false}}")
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
}

TEST(RayCluster, ASuspendedGroupGoesAloneAndComesBack) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  auto asleep = group_of(2);
  asleep.insert(asleep.find("groupName"), "suspend: true, ");
  world.patch("RayCluster", "c", asleep).settle();
  EXPECT_TRUE(world.workers("c").empty());
  EXPECT_FALSE(world.head("c").empty());
  world.patch("RayCluster", "c", group_of(2)).run_until(has_workers("c", 2)).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 5);
}

TEST(RayCluster, DeletedTakesEverythingAlong) {
  World world;
  const auto before = world.picture();
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.remove("RayCluster", "c").settle();
  EXPECT_EQ(difference(before, world.picture()), "");
  world.expect_rest();
}

TEST(RayCluster, DeletedInTheForegroundTakesEverythingAlong) {
  World world;
  const auto before = world.picture();
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.remove("RayCluster", "c", kube::Propagation::Foreground).settle();
  EXPECT_EQ(difference(before, world.picture()), "");
}

TEST(RayCluster, OneMadeAgainUnderItsNameIsItsOwn) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.remove("RayCluster", "c");
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
  EXPECT_EQ(world.mirror().list("Pod").size(), 3u);
}

TEST(RayCluster, RefusedPodsOfOneGroupDoNotDelayAnother) {
  World world;
  world.faults().on_write = [](std::size_t, const kube::Request& request) {
    const bool refused =
        request.resource == kube::kPods && label_of(request.body, "ray.io/group") == "refused";
    return refused ? kube::CallFault::Forbidden : kube::CallFault::None;
  };
  auto two = group_of(2);
  const auto group = two.substr(two.find('[') + 1, two.rfind(']') - two.find('[') - 1);
  auto refused = group;
  refused.replace(refused.find("groupName: g"), 12, "groupName: refused");
  world.apply(kCluster)
      .patch("RayCluster", "c",
             fmt::format("{{spec: {{workerGroupSpecs: [{},{}]}}}}", refused, group))
      .run_until(has_workers("c", 2), 10s);
  EXPECT_EQ(world.workers("c", "g").size(), 2u);
  EXPECT_TRUE(condition_of(world.get("RayCluster", "c"), "ReplicaFailure").starts_with("True"));
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("FailedToCreateWorkerPod")));
  // Once they are admitted they come by themselves.
  world.faults().on_write = {};
  world.run_until(cluster_is("c", "ready"), 20min).settle();
  EXPECT_EQ(world.workers("c", "refused").size(), 2u);
  EXPECT_FALSE(condition_of(world.get("RayCluster", "c"), "ReplicaFailure").starts_with("True"));
}

TEST(RayCluster, AnInvalidSpecGetsAnEventAndNoPod) {
  World world({.start_operator = false});
  world.apply(kCluster);
  auto twins = group_of(2);
  const auto group = twins.substr(twins.find('[') + 1, twins.rfind(']') - twins.find('[') - 1);
  world.patch("RayCluster", "c",
              fmt::format("{{spec: {{workerGroupSpecs: [{},{}]}}}}", group, group));
  world.start_operator().settle();
  EXPECT_EQ(world.mirror().created("Pod"), 0);
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("InvalidRayClusterSpec")));
  world.expect_rest();
  world.patch("RayCluster", "c", group_of(2)).run_until(cluster_is("c", "ready"));
}

}  // namespace
}  // namespace manta::integration
