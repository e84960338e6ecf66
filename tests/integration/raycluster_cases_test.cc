// What users of the reference ran into with RayClusters. Each test has its case's id.
#include "case_tools.h"
#include "ray/types.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using kube::CallFault;
using kube::EventFault;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

bool creates_pod(const kube::Request& request) { return creates(request, kube::kPods); }

TEST(RayClusterCase, RC_01_NoPodIsMadeTwiceWhileTheWatchLags) {
  World world;
  lag(world, kube::kPods);
  world.apply(kCluster).pass(5s);
  for (int nudge = 0; nudge < 5; ++nudge)
    world.patch("RayCluster", "c", fmt::format("{{metadata: {{labels: {{n: \"{}\"}}}}}}", nudge))
        .pass(1s);
  unlag(world);
  world.run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 3);
}

TEST(RayClusterCase, RC_02_AHeadWhoseReplyWasLostIsNotMadeTwice) {
  World world;
  lag(world, kube::kPods);
  fault_once(world, CallFault::LostReply, creates_pod);
  world.apply(kCluster).pass(30s);
  EXPECT_EQ(world.injected().front().find("call") != std::string::npos, true);
  unlag(world);
  world.run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 3);
}

TEST(RayClusterCase, RC_02_NorWhenTheOperatorDiesOverIt) {
  World world;
  fault_once(world, CallFault::CrashAfter, creates_pod);
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.lives(), 2);
  EXPECT_EQ(world.mirror().created("Pod"), 3);
}

TEST(RayClusterCase, RC_04_ThePodThatServesLeastGoesFirst) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.kubelet().hold({{"ray.io/group", "g"}});
  world.patch("RayCluster", "c", group_of(3)).settle();
  std::string pending;
  for (const auto& name : world.workers("c"))
    if (phase_of(world.get("Pod", name)) != "Running") pending = name;
  ASSERT_FALSE(pending.empty());
  world.patch("RayCluster", "c", group_of(2)).settle();
  EXPECT_THAT(world.workers("c"), Not(Contains(pending)));
  EXPECT_EQ(world.workers("c").size(), 2u);
}

TEST(RayClusterCase, RC_08_AHeadWhoseRayContainerIsGoneForGoodIsReplacedOnce) {
  for (const bool phase_stays_running : {true, false}) {
    SCOPED_TRACE(phase_stays_running);
    World world({.start_operator = false});
    world.apply(kCluster).patch("RayCluster", "c", R"(
spec: {headGroupSpec: {template: {spec: {restartPolicy: Never, containers: [
  {name: ray-head, image: ray}, {name: other, image: other}]}}}})");
    world.start_operator().run_until(cluster_is("c", "ready")).settle();
    const auto first = world.head("c");
    if (phase_stays_running)
      world.kubelet().end_container(first, "ray-head", "OOMKilled");
    else
      world.kubelet().fail(first, "OOMKilled");
    world.settle();
    EXPECT_NE(world.head("c"), first);
    EXPECT_EQ(world.mirror().created("Pod"), 4);
    EXPECT_THAT(world.events("c"), Contains(HasSubstr("OOMKilled")));
  }
}

TEST(RayClusterCase, RC_13_TwoGroupsOfOneNameAreRefusedWithoutChurn) {
  World world({.start_operator = false});
  world.apply(kCluster).patch("RayCluster", "c", R"(
spec: {workerGroupSpecs: [
  {groupName: g, replicas: 2, minReplicas: 0, maxReplicas: 9, template: {spec: {containers: [{name: w, image: ray}]}}},
  {groupName: g, replicas: 3, minReplicas: 0, maxReplicas: 9, template: {spec: {containers: [{name: w, image: ray}]}}}]})");
  world.start_operator().settle().expect_rest();
  EXPECT_EQ(world.mirror().created("Pod"), 0);
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("unique")));
  EXPECT_EQ(condition_of(world, "c", "InvalidSpec"), "True InvalidRayClusterSpec");
}

TEST(RayClusterCase, RC_15_ZeroHostsReadAsOne) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.patch("RayCluster", "c", group_of(2, "numOfHosts: 0")).settle().crash().settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
  EXPECT_EQ(world.mirror().created("Pod"), 3);
}

TEST(RayClusterCase, RC_16_AnImpossibleRangeMakesNothingAndGoesOnOnceCorrected) {
  World world;
  auto impossible = std::string(kCluster);
  impossible.replace(impossible.find("minReplicas: 0"), 14, "minReplicas: 50");
  world.apply(impossible).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 0);
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("InvalidRayClusterSpec")));
  const auto& conditions = array_at(world.get("RayCluster", "c"), {"status", "conditions"});
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(string_at(conditions[0], {"type"}), "InvalidSpec");
  EXPECT_EQ(int_at(conditions[0], {"observedGeneration"}), 1);
  world.expect_rest();
  world.patch("RayCluster", "c", group_of(2)).run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(condition_of(world, "c", "InvalidSpec"), "absent");
}

TEST(RayClusterCase, RC_17_TakingSuspendAwayResumes) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.patch("RayCluster", "c", "{spec: {suspend: true}}").run_until(cluster_is("c", "suspended"));
  world.patch("RayCluster", "c", "{spec: {suspend: null}}")
      .run_until(cluster_is("c", "ready"))
      .settle();
}

TEST(RayClusterCase, RC_19_ServicesStayWhileSuspended) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.patch("RayCluster", "c", "{spec: {suspend: true}}")
      .run_until(cluster_is("c", "suspended"))
      .settle();
  EXPECT_TRUE(world.mirror().find("Service", "c-head-svc"));
}

TEST(RayClusterCase, RC_21_HostsCountInWhatIsDesired) {
  World world({.start_operator = false});
  world.apply(kCluster).patch("RayCluster", "c", group_of(2, "numOfHosts: 2"));
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.workers("c").size(), 4u);
  const auto& cluster = world.get("RayCluster", "c");
  EXPECT_EQ(int_at(cluster, {"status", "desiredWorkerReplicas"}), 4);
  EXPECT_EQ(int_at(cluster, {"status", "maxWorkerReplicas"}), 2000);
}

TEST(RayClusterCase, RC_26_ARayJobOfTheSameNameLeavesTheClustersServiceAlone) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto before = dump_json(*find(world.get("Service", "c-head-svc"), {"spec"}));
  auto job = std::string(kJob);
  job.replace(job.find("{name: j}"), 9, "{name: c}");
  world.apply(job).run_until(ray_job_is("c", "RUNNING"));
  EXPECT_EQ(dump_json(*find(world.get("Service", "c-head-svc"), {"spec"})), before);
  world.end_job("c", "SUCCEEDED").run_until(job_is("c", "Complete"));
  EXPECT_EQ(dump_json(*find(world.get("Service", "c-head-svc"), {"spec"})), before);
  EXPECT_EQ(string_at(world.get("RayCluster", "c"), {"status", "state"}), "ready");
}

TEST(RayClusterCase, RC_29_NothingIsMadeForAClusterWhoseEndIsNotSeenYet) {
  World world;
  const auto before = world.picture();
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  lag(world, ray::kRayClusters);
  world.remove("RayCluster", "c").pass(10s);
  unlag(world);
  world.settle();
  EXPECT_EQ(difference(before, world.picture()), "");
}

const char* const kRecreate = "{spec: {upgradeStrategy: {type: Recreate}}}";

TEST(RayClusterCase, RC_31_OnlyAChangedTemplateRecreates) {
  World world({.start_operator = false});
  world.apply(kCluster).patch("RayCluster", "c", kRecreate);
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  ASSERT_EQ(world.mirror().created("Pod"), 3);
  world.patch("RayCluster", "c", group_of(3)).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 4) << "scaling is no upgrade";
  auto image = group_of(3);
  image.replace(image.find("image: ray"), 10, "image: ray:2");
  world.patch("RayCluster", "c", image).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 8) << "all of them once";
  world.expect_rest();
}

TEST(RayClusterCase, RC_42_ADyingOperatorsHeadIsItsSuccessorsToo) {
  World world;
  // After the head's creation, before the status: at every write from the head on.
  for (std::size_t death = 1; death < 6; ++death) {
    world.faults().writes.clear();
    world.faults().on_write = [death](std::size_t number, const kube::Request&) {
      return number == death ? CallFault::CrashAfter : CallFault::None;
    };
    world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
    EXPECT_EQ(world.mirror().list("Pod").size(), 3u) << death;
    world.remove("RayCluster", "c").settle();
  }
  EXPECT_EQ(world.mirror().created("Pod"), 15);
}

TEST(RayClusterCase, RC_44_APodThatSomebodyMadeByHandIsNotCounted) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world
      .apply(R"(
apiVersion: v1
kind: Pod
metadata:
  name: mine
  labels: {ray.io/cluster: c, ray.io/node-type: head, ray.io/group: headgroup, ray.io/is-ray-node: "yes"}
spec: {containers: [{name: ray-head, image: ray}]}
)")
      .settle();
  world.patch("RayCluster", "c", group_of(3)).run_until(has_workers("c", 3)).settle();
  EXPECT_TRUE(world.mirror().find("Pod", "mine"));
  EXPECT_EQ(string_at(world.get("RayCluster", "c"), {"status", "state"}), "ready");
  EXPECT_EQ(condition_of(world, "c", "ForeignPods"), "True PodsNotOwned");
  world.remove("Pod", "mine").settle();
  EXPECT_EQ(condition_of(world, "c", "ForeignPods"), "absent");
}

TEST(RayClusterCase, RC_05_AWorkerThatHangsInItsDeletionNoLongerCounts) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  for (const auto& name : world.workers("c")) world.kubelet().hang(name);
  world.patch("RayCluster", "c", group_of(1)).pass(20s);
  ASSERT_EQ(world.workers("c").size(), 1u);
  world.patch("RayCluster", "c", group_of(4)).run_until(has_workers("c", 4), 10s);
  EXPECT_EQ(world.mirror().created("Pod"), 6);
  EXPECT_EQ(string_at(world.get("RayCluster", "c"), {"status", "state"}), "ready");
}

TEST(RayClusterCase, RC_06_AHeadThatDoesNotGoIsSaid) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto head = world.head("c");
  world.kubelet().hang(head);
  world.remove("Pod", head)
      .run_until(cluster_says("c", "HeadTerminating", "True DeletionPending"), 2min);
  EXPECT_EQ(world.mirror().created("Pod"), 3) << "one head at a time";
  world.kubelet().unhang(head);
  world.run_until(cluster_says("c", "HeadTerminating", "absent")).settle();
  EXPECT_NE(world.head("c"), head);
}

// The embedded API server has no quota, so a door before it plays one.
TEST(RayClusterCase, RC_11_ARefusedPodIsTriedAgainWhenAnotherEnds) {
  int room = 3;
  World world({.tamper = quota(room)});
  auto other = std::string(kCluster);
  other.replace(other.find("{name: c}"), 9, "{name: other}");
  world.apply(other).run_until(cluster_is("other", "ready")).settle();
  world.apply(kCluster).run_until(cluster_says("c", "ReplicaFailure", "True FailedCreateHeadPod"),
                                  5s);
  world.pass(10min);  // its tries are a minute apart by now
  room = 4;           // for the Pod that goes now and is made again, and for three more
  world.remove("Pod", world.workers("other").front());
  world.run_until(cluster_is("c", "ready"), 5s);
  EXPECT_EQ(condition_of(world, "c", "ReplicaFailure"), "absent");
}

const char* const kTwoGroups = R"({spec: {workerGroupSpecs: [
  {groupName: g, replicas: 1, maxReplicas: 9, template: {spec: {containers: [{name: w, image: ray}]}}},
  {groupName: h, replicas: 2, maxReplicas: 9, template: {spec: {containers: [{name: w, image: ray}]}}}]}})";

TEST(RayClusterCase, RC_12_ARemovedGroupIsNamed) {
  for (const bool gate : {false, true}) {
    SCOPED_TRACE(gate);
    World world(
        {.feature_gates = gate ? "RayClusterDeleteOrphans=true" : "", .start_operator = false});
    world.apply(kCluster).patch("RayCluster", "c", kTwoGroups);
    world.start_operator().run_until(cluster_is("c", "ready")).settle();
    world.patch("RayCluster", "c", group_of(1)).settle();
    EXPECT_EQ(world.workers("c", "h").size(), gate ? 0u : 2u);
    EXPECT_EQ(condition_of(world, "c", "OrphanedWorkerGroup"),
              gate ? "absent" : "True GroupNotInSpec");
    world.expect_rest();
  }
}

TEST(RayClusterCase, RC_25_LongNamesThatEndAlikeShareNothing) {
  World world;
  const std::string tail(48, 'x');
  for (const auto* start : {"aaaaa", "bbbbb"}) {
    auto text = std::string(kCluster);
    text.replace(text.find("{name: c}"), 9, fmt::format("{{name: {}{}}}", start, tail));
    text.replace(text.find("spec:"), 5,
                 "spec:\n  enableInTreeAutoscaling: true\n  authOptions: {mode: token}");
    world.apply(text).run_until(cluster_is(start + tail, "ready"));
  }
  world.settle().expect_rest();
  for (const auto* kind : {"ServiceAccount", "Secret"})
    EXPECT_EQ(world.mirror().list(kind).size(), 2u) << kind;
  const auto account_of = [&](const std::string& cluster) {
    return std::string(
        string_at(world.get("Pod", world.head(cluster)), {"spec", "serviceAccountName"}));
  };
  EXPECT_EQ(account_of("aaaaa" + tail), ("aa" + tail)) << "as the reference clips it";
  EXPECT_NE(account_of("bbbbb" + tail), account_of("aaaaa" + tail));
  world.remove("RayCluster", "aaaaa" + tail).settle();
  EXPECT_TRUE(world.mirror().find("ServiceAccount", account_of("bbbbb" + tail)));
  world.expect_rest();
}

TEST(RayClusterCase, RC_26_ANewClusterLeavesAServiceOfItsNameAloneAndSaysSo) {
  World world;
  world.apply(R"(
apiVersion: v1
kind: Service
metadata: {name: c-head-svc}
spec: {selector: {app: other}, ports: [{port: 80}]}
)");
  world.apply(kCluster).settle().expect_rest();
  EXPECT_EQ(string_at(world.get("Service", "c-head-svc"), {"spec", "selector", "app"}), "other");
  EXPECT_EQ(condition_of(world, "c", "NameConflict"), "True ServiceNotOwned");
  EXPECT_EQ(world.mirror().created("Pod"), 0);
  world.remove("Service", "c-head-svc").run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(condition_of(world, "c", "NameConflict"), "absent");
}

TEST(RayClusterCase, RC_27_ASecretWithoutTheTokenIsLeftAloneAndNamed) {
  World world;
  world.apply(R"(
apiVersion: v1
kind: Secret
metadata: {name: c}
stringData: {password: mine}
)");
  auto text = std::string(kCluster);
  text.replace(text.find("spec:"), 5, "spec:\n  authOptions: {mode: token}");
  world.apply(text).run_until(cluster_says("c", "NameConflict", "True SecretWithoutToken"));
  EXPECT_EQ(object_at(world.get("Secret", "c"), {"data"}).size(), 1u);
  world.patch("Secret", "c", "{stringData: {auth_token: t}}")
      .run_until(cluster_says("c", "NameConflict", "absent"))
      .settle();
}

TEST(RayClusterCase, RC_33_AHeadWithoutHashIsRecreatedForTheNextChangeOnly) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.stop_operator();
  world.patch("Pod", world.head("c"), R"(metadata: {annotations: {
    ray.io/upgrade-strategy-recreate-hash: null, ray.io/kuberay-version: null}})");
  world.start_operator().settle();
  ASSERT_EQ(world.mirror().created("Pod"), 3);
  world.patch("RayCluster", "c", kRecreate).settle();
  ASSERT_EQ(world.mirror().created("Pod"), 3);
  auto image = group_of(2);
  image.replace(image.find("image: ray"), 10, "image: ray:2");
  world.patch("RayCluster", "c", image).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 6);
}

TEST(RayClusterCase, RC_34_WhatWeInjectIsNoChange) {
  World world({.feature_gates = "RayClusterHistoryServer=true"});
  auto text = std::string(kCluster);
  text.replace(text.find("spec:"), 5, R"(spec:
  enableInTreeAutoscaling: true
  upgradeStrategy: {type: Recreate}
  historyServerOptions: {collectorOptions: {image: i, env: [{name: STORAGE_BACKEND, value: local}]}})");
  world.apply(text).run_until(cluster_is("c", "ready")).settle();
  auto image = group_of(2);
  image.replace(image.find("image: ray"), 10, "image: ray:2");
  world.patch("RayCluster", "c", image).settle().expect_rest();
  EXPECT_EQ(world.mirror().created("Pod"), 6) << "one rollout";
}

}  // namespace
}  // namespace manta::integration
