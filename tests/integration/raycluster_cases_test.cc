// What users of the reference ran into with RayClusters. Each test has its case's id.
#include "case_tools.h"
#include "ray/types.h"
#include "rayjob_case_tools.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

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
  const auto oldest = world.workers("c");
  world.patch("RayCluster", "c", group_of(3)).run_until(has_workers("c", 3)).settle();
  auto names = world.workers("c");
  const auto youngest = *std::ranges::find_if(
      names, [&](const auto& name) { return !std::ranges::count(oldest, name); });
  const auto unready = oldest.front();
  world.kubelet().hold({{"ray.io/group", "g"}});
  world.patch("RayCluster", "c", group_of(4)).settle();
  names = world.workers("c");
  const auto pending = *std::ranges::find_if(
      names, [&](const auto& name) { return phase_of(world.get("Pod", name)) != "Running"; });
  world.kubelet().unready(unready);
  world.settle();
  // One after another: the one that waits, the one that is not ready, the youngest.
  int left = 4;
  for (const auto& victim : {pending, unready, youngest}) {
    EXPECT_THAT(world.workers("c"), Contains(victim));
    world.patch("RayCluster", "c", group_of(--left)).settle();
    EXPECT_THAT(world.workers("c"), Not(Contains(victim))) << left;
    EXPECT_EQ(world.workers("c").size(), static_cast<std::size_t>(left));
  }
  EXPECT_THAT(world.workers("c"), Contains(oldest.back()));
}

TEST(RayClusterCase, RC_08_AHeadWhoseRayContainerIsGoneForGoodIsReplacedOnce) {
  // Of two containers: the user's two under restartPolicy Never, or Ray and its autoscaler v2.
  constexpr const char* kOwn = R"(spec: {headGroupSpec: {template: {spec: {restartPolicy: Never,
    containers: [{name: ray-head, image: ray}, {name: other, image: other}]}}}})";
  constexpr const char* kAutoscaler =
      "spec: {enableInTreeAutoscaling: true, autoscalerOptions: {version: v2}}";
  for (const auto* second : {kOwn, kAutoscaler})
    for (const bool phase_stays_running : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", second, phase_stays_running));
      World world({.start_operator = false});
      world.apply(kCluster).patch("RayCluster", "c", second);
      world.start_operator().run_until(cluster_is("c", "ready")).settle();
      const auto first = world.head("c");
      ASSERT_EQ(array_at(world.get("Pod", first), {"spec", "containers"}).size(), 2u);
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
  for (const auto* range :
       {"minReplicas: 50", "minReplicas: -1", "minReplicas: -5\n    maxReplicas: -2"}) {
    SCOPED_TRACE(range);
    World world;
    auto impossible = std::string(kCluster);
    if (std::string_view(range).contains("max"))
      impossible.replace(impossible.find("    maxReplicas: 10\n"), 20, "");
    impossible.replace(impossible.find("minReplicas: 0"), 14, range);
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

TEST(RayClusterCase, RC_29_WhatIsMadeForAClusterWhoseEndIsNotSeenYetGoesWithIt) {
  World world;
  const auto before = world.picture();
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  lag(world, ray::kRayClusters);
  world.remove("RayCluster", "c").pass(10s);
  EXPECT_GT(world.mirror().created("Pod"), 3) << "made for a cluster that is gone";
  unlag(world);
  world.settle().expect_rest();
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
  world
      .patch("RayCluster", "c",
             group_of(2, fmt::format("scaleStrategy: {{workersToDelete: [{}]}}",
                                     world.workers("c").front())))
      .settle();
  world.patch("RayCluster", "c", group_of(3)).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 5) << "nor is a worker that is named";
  world.stop_operator();
  world.patch("Pod", world.head("c"), R"(metadata: {annotations: {
    ray.io/upgrade-strategy-recreate-hash: other, ray.io/kuberay-version: v0.1.0}})");
  world.start_operator().settle().expect_rest();
  EXPECT_EQ(world.mirror().created("Pod"), 5) << "another operator hashes otherwise";
  auto image = group_of(3);
  image.replace(image.find("image: ray"), 10, "image: ray:2");
  world.patch("RayCluster", "c", image).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 9) << "all of them once";
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

TEST(RayClusterCase, RC_42_AnotherTakesOverWithinTheLeaseAndTwoSeconds) {
  World world({.processes = 2});
  // Whoever takes over hears of Pods late.
  world.faults().on_event = [](std::uint64_t, const kube::WatchRequest& request,
                               const kube::WatchEvent&) {
    return request.resource == kube::kPods ? EventFault::Delay : EventFault::None;
  };
  world.apply(kCluster).run_until(
      {"the head is made", [](const World& w) { return w.mirror().created("Pod") == 1; }});
  const auto leader = world.identity_of_leader();
  world.crash_leader();
  world.run_until({"another has made the workers",
                   [](const World& w) { return w.mirror().created("Pod") == 3; }},
                  17s);
  EXPECT_NE(world.identity_of_leader(), leader);
  world.run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 3);
}

TEST(RayClusterCase, RC_42_ANewLeaderKnowsWhatItsWatchHasMissed) {
  World world({.processes = 2});
  world.faults().on_event = [](std::uint64_t, const kube::WatchRequest& request,
                               const kube::WatchEvent&) {
    return request.resource == kube::kPods ? EventFault::Break : EventFault::None;
  };
  world.apply(kCluster).run_until(
      {"all Pods are made", [](const World& w) { return w.mirror().created("Pod") == 3; }});
  std::set<std::string> leaders;
  for (int deaths = 0; deaths < 6; ++deaths) {
    leaders.insert(world.identity_of_leader());
    world.crash_leader();
    world.pass(60s);
    EXPECT_EQ(world.mirror().created("Pod"), 3) << "a head too many, for one";
  }
  EXPECT_THAT(leaders, testing::IsSupersetOf({"operator-0-1", "operator-1-2"}))
      << "one only watched";
  world.faults().on_event = {};
  world.run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 3);
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
  world.patch("RayCluster", "c", "{spec: {suspend: true}}")
      .run_until(cluster_is("c", "suspended"))
      .settle();
  EXPECT_TRUE(world.mirror().find("Pod", "mine")) << "nobody else's Pods sleep with it";
  EXPECT_EQ(world.mirror().list("Pod").size(), 1u);
  world.patch("RayCluster", "c", "{spec: {suspend: false}}")
      .run_until(cluster_is("c", "ready"))
      .settle();
  world.remove("Pod", "mine").settle();
  EXPECT_EQ(condition_of(world, "c", "ForeignPods"), "absent");
  world.expect_rest();
}

TEST(RayClusterCase, RC_44_NorIsOneOfAnotherController) {
  World world;
  world.apply(kCluster).apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: shop}}");
  world.run_until(cluster_is("c", "ready"));
  world
      .apply(fmt::format(R"(
apiVersion: v1
kind: Pod
metadata:
  name: theirs
  labels: {{ray.io/cluster: c, ray.io/node-type: worker, ray.io/group: g}}
  ownerReferences:
  - {{apiVersion: v1, kind: ConfigMap, name: shop, uid: {}, controller: true}}
spec: {{containers: [{{name: c, image: i}}]}}
)",
                         uid_of(world.get("ConfigMap", "shop"))))
      .settle();
  EXPECT_EQ(condition_of(world, "c", "ForeignPods"), "True PodsNotOwned");
  world.patch("RayCluster", "c", "{spec: {suspend: true}}")
      .run_until(cluster_is("c", "suspended"))
      .settle();
  EXPECT_TRUE(world.mirror().find("Pod", "theirs"));
}

// The operator does not see it at all.
TEST(RayClusterCase, RC_44_APodWithTheClustersNameAloneDoesNotSleepWithIt) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world
      .apply(
          "{apiVersion: v1, kind: Pod, metadata: {name: mine, labels: {ray.io/cluster: c}}, "
          "spec: {containers: [{name: c, image: i}]}}")
      .settle();
  world.patch("RayCluster", "c", "{spec: {suspend: true}}")
      .run_until(cluster_is("c", "suspended"))
      .settle();
  EXPECT_TRUE(world.mirror().find("Pod", "mine"));
  EXPECT_EQ(world.mirror().list("Pod").size(), 1u);
}

// As of a ReplicaSet's Pods: whoever relabels one takes it out, and another comes in its place. The
// cluster whose label it carries now does not count it, and says so.
TEST(RayClusterCase, RC_44_AWorkerThatIsRelabelledIsReplacedAndTold) {
  World world;
  std::string other = kCluster;
  other.replace(other.find("{name: c}"), 9, "{name: d}");
  world.apply(kCluster).apply(other);
  world.run_until(cluster_is("c", "ready")).run_until(cluster_is("d", "ready")).settle();
  const auto count = world.workers("c").size();
  const auto moved = world.workers("c").at(0);
  world.patch("Pod", moved, "{metadata: {labels: {ray.io/cluster: d}}}")
      .run_until(has_workers("c", count))
      .settle();
  EXPECT_TRUE(world.mirror().find("Pod", moved));
  EXPECT_EQ(condition_of(world, "d", "ForeignPods"), "True PodsNotOwned");
  EXPECT_EQ(condition_of(world, "c", "ForeignPods"), "absent");
  EXPECT_EQ(world.workers("d").size(), count + 1) << "its own, and the one that does not count";
  world.expect_rest();
}

// Two operators without leader election, or a restored backup. Either head may hold what users run.
TEST(RayClusterCase, RC_44_TwoHeadsOfOneClusterAreToldAndOneOfThemMayBeDeleted) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto first = world.head("c");
  auto twin = world.get("Pod", first);
  JsonObject& meta = twin.at("metadata").as_object();
  for (const auto* field : {"uid", "resourceVersion", "creationTimestamp"}) meta.erase(field);
  meta["name"] = "c-head-twin";
  twin.as_object().erase("status");
  world.apply(dump_json(twin)).run_until(cluster_says("c", "MultipleHeads", "True HeadNotUnique"));
  world.patch("RayCluster", "c", group_of(3)).pass(1min);
  EXPECT_FALSE(world.laws().take_broken().empty()) << "not by the operator";
  EXPECT_TRUE(world.mirror().find("Pod", first));
  EXPECT_TRUE(world.mirror().find("Pod", "c-head-twin"));
  EXPECT_EQ(world.workers("c").size(), 2u) << "nothing is done while it is not known for which";
  EXPECT_EQ(
      std::ranges::count_if(world.events("c"),
                            [](const auto& event) { return event.starts_with("MultipleHeads"); }),
      1);
  world.remove("Pod", first).run_until(has_workers("c", 3)).settle();
  EXPECT_EQ(world.head("c"), "c-head-twin");
  EXPECT_EQ(condition_of(world, "c", "MultipleHeads"), "absent");
}

TEST(RayClusterCase, RC_44_WhatAnOrphaningDeletionLeftIsTakenOverByTheNextOfThatName) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto head = world.head("c");
  const auto workers = world.workers("c");
  world.remove("RayCluster", "c", kube::Propagation::Orphan)
      .run_until(is_gone("RayCluster", "c"))
      .pass(5s);
  ASSERT_TRUE(world.mirror().find("Pod", head));
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.head("c"), head);
  EXPECT_EQ(world.workers("c"), workers);
  EXPECT_EQ(world.mirror().created("Pod"), 3) << "no second head behind the Service";
  EXPECT_EQ(condition_of(world, "c", "ForeignPods"), "absent");
  const auto pod = world.get("Pod", head);
  const auto& owners = array_at(pod, {"metadata", "ownerReferences"});
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(string_at(owners[0], {"uid"}),
            string_at(world.get("RayCluster", "c"), {"metadata", "uid"}));
  world.expect_rest();
  world.remove("RayCluster", "c").run_until(is_gone("Pod", head)).settle();
  EXPECT_TRUE(world.workers("c").empty());
}

const char* const kTwoGroups = R"({{spec: {{workerGroupSpecs: [
  {{groupName: g, replicas: {}, maxReplicas: 9, template: {{spec: {{containers: [{{name: w, image: ray}}]}}}}}},
  {{groupName: h, replicas: {}, maxReplicas: 9, template: {{spec: {{containers: [{{name: w, image: ray}}]}}}}}}]}}}})";
std::string two_groups(int g, int h) { return fmt::format(fmt::runtime(kTwoGroups), g, h); }

TEST(RayClusterCase, RC_05_AWorkerThatHangsInItsDeletionNoLongerCounts) {
  World world({.start_operator = false});
  world.apply(kCluster).patch("RayCluster", "c", two_groups(2, 1));
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  for (const auto& name : world.workers("c", "g")) world.kubelet().hang(name);
  world.patch("RayCluster", "c", two_groups(1, 1)).pass(20s);
  ASSERT_EQ(world.workers("c", "g").size(), 1u);
  world.patch("RayCluster", "c", two_groups(4, 3)).run_until(has_workers("c", 7), 10s);
  EXPECT_EQ(world.workers("c", "h").size(), 3u);
  EXPECT_EQ(world.mirror().created("Pod"), 4 + 3 + 2);
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

// spec/02 §2 step 12: what comes after an Ingress that is refused is not made before it.
TEST(RayClusterOrder, ARefusedIngressHoldsUpWhatComesAfterItAndNothingElse) {
  bool refused = true;
  World world({.tamper = [&refused](kube::Api& wire) {
    return std::make_unique<Refuses>(wire, kube::kIngresses, "ingresses is forbidden: no class",
                                     [&refused] { return refused; });
  }});
  auto text = std::string(kCluster);
  text.replace(text.find("spec:"), 5,
               "spec:\n  enableInTreeAutoscaling: true\n  authOptions: {mode: token}");
  text.replace(text.find("headGroupSpec:"), 14, "headGroupSpec:\n    enableIngress: true");
  auto other = std::string(kCluster);
  other.replace(other.find("{name: c}"), 9, "{name: other}");
  world.apply(text).apply(other).run_until(cluster_is("other", "ready"));
  world.pass(10min);
  for (const auto* kind : {"ServiceAccount", "Role", "RoleBinding"})
    EXPECT_TRUE(world.mirror().find(kind, "c")) << kind;
  EXPECT_FALSE(world.mirror().find("Secret", "c"));
  EXPECT_FALSE(world.mirror().find("Service", "c-head-svc"));
  EXPECT_TRUE(world.head("c").empty());
  EXPECT_FALSE(find(world.get("RayCluster", "c"), {"status", "state"}));
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("FailedToCreateIngress Failed creating ingress "
                                                    "default/c-head-ingress, ")));
  refused = false;
  world.run_until(cluster_is("c", "ready"), 20min).settle().expect_rest();
  EXPECT_TRUE(world.mirror().find("Secret", "c"));
}

/// A quota of two Pods for group g.
class RefusesThird final : public sim::Relay {
 public:
  RefusesThird(kube::Api& wire, bool& full) : Relay(wire), full_(full) {}
  Task<Result<kube::Response>> call(kube::Request request) override {
    const bool worker = creates(request, kube::kPods) &&
                        string_at(request.body, {"metadata", "labels", "ray.io/group"}) == "g";
    if (worker && full_ && ++made_ > 2)
      co_return failed({.code = ErrorCode::Forbidden,
                        .message = "pods is forbidden: exceeded quota: small",
                        .http_status = 403});
    co_return co_await inner().call(std::move(request));
  }

 private:
  bool& full_;
  int made_ = 0;
};

TEST(RayClusterCase, RC_11_ARefusedWorkerIsSaidAtOnceAndHoldsUpNobody) {
  bool full = true;
  World world({.start_operator = false, .tamper = [&full](kube::Api& wire) {
                 return std::make_unique<RefusesThird>(wire, full);
               }});
  world.apply(kCluster).patch("RayCluster", "c", two_groups(3, 2));
  world.start_operator().run_until(
      cluster_says("c", "ReplicaFailure", "True FailedCreateWorkerPod"), 1s);
  const auto& conditions = array_at(world.get("RayCluster", "c"), {"status", "conditions"});
  const auto failure = std::ranges::find_if(
      conditions, [](const Json& item) { return string_at(item, {"type"}) == "ReplicaFailure"; });
  EXPECT_THAT(std::string(string_at(*failure, {"message"})), HasSubstr("QuotaExceeded: "));
  world.run_until(has_workers("c", 4), 5s);
  EXPECT_EQ(world.workers("c", "h").size(), 2u) << "the group after it";
  EXPECT_FALSE(world.head("c").empty());
  world.pass(10min);
  full = false;
  world.run_until(cluster_is("c", "ready"), 62s);  // a try each minute at least
  EXPECT_EQ(condition_of(world, "c", "ReplicaFailure"), "absent");
}

TEST(RayClusterCase, RC_12_ARemovedGroupIsNamed) {
  for (const bool gate : {false, true}) {
    SCOPED_TRACE(gate);
    World world(
        {.feature_gates = gate ? "RayClusterDeleteOrphans=true" : "", .start_operator = false});
    world.apply(kCluster).patch("RayCluster", "c", two_groups(1, 2));
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
  const std::string tail(50, 'x');
  for (const auto* start : {"aaa", "bbb"}) {
    auto text = std::string(kCluster);
    text.replace(text.find("{name: c}"), 9, fmt::format("{{name: {}{}}}", start, tail));
    text.replace(text.find("spec:"), 5,
                 "spec:\n  enableInTreeAutoscaling: true\n  authOptions: {mode: token}");
    world.apply(text).run_until(cluster_is(start + tail, "ready"));
  }
  world.settle().expect_rest();
  for (const auto* kind : {"ServiceAccount", "Role", "RoleBinding", "Secret"})
    EXPECT_EQ(world.mirror().list(kind).size(), 2u) << kind;
  const auto account_of = [&](const std::string& cluster) {
    return std::string(
        string_at(world.get("Pod", world.head(cluster)), {"spec", "serviceAccountName"}));
  };
  EXPECT_EQ(account_of("aaa" + tail), tail) << "as the reference clips it";
  EXPECT_NE(account_of("bbb" + tail), account_of("aaa" + tail));
  world.remove("RayCluster", "aaa" + tail).settle();
  EXPECT_TRUE(world.mirror().find("ServiceAccount", account_of("bbb" + tail)));
  world.expect_rest();
}

// What is made arrives a while later.
class SlowCreates final : public sim::Relay {
 public:
  SlowCreates(kube::Api& wire, Loop*& loop) : Relay(wire), loop_(loop) {}
  Task<Result<kube::Response>> call(kube::Request request) override {
    if (request.verb == kube::Verb::Create) co_await sleep(*loop_, 100ms, {});
    co_return co_await inner().call(std::move(request));
  }

 private:
  Loop*& loop_;
};

TEST(RayClusterCase, RC_25_NorDoThoseMadeAtOnce) {
  Loop* loop = nullptr;
  World world({.start_operator = false, .tamper = [&loop](kube::Api& wire) {
                 return std::make_unique<SlowCreates>(wire, loop);
               }});
  loop = &world.loop();
  const std::string tail(50, 'x');
  for (const auto* start : {"aaa", "bbb"}) {
    auto text = std::string(kCluster);
    text.replace(text.find("{name: c}"), 9, fmt::format("{{name: {}{}}}", start, tail));
    text.replace(text.find("spec:"), 5, "spec:\n  enableInTreeAutoscaling: true");
    world.apply(text);
  }
  world.start_operator();
  std::set<std::string> accounts;
  for (const auto* start : {"aaa", "bbb"}) {
    world.run_until(cluster_is(start + tail, "ready"));
    accounts.emplace(
        string_at(world.get("Pod", world.head(start + tail)), {"spec", "serviceAccountName"}));
  }
  EXPECT_EQ(accounts.size(), 2u);
  for (const auto* kind : {"ServiceAccount", "Role", "RoleBinding"})
    EXPECT_EQ(world.mirror().list(kind).size(), 2u) << kind;
  world.settle().expect_rest();
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
  EXPECT_THAT(message_of(world, "c", "NameConflict"),
              HasSubstr("Secret default/c has no key auth_token"));
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

TEST(RayClusterCase, RC_33_NorIsItForgottenWhileAQuotaKeepsWorkersAway) {
  int room = 3;
  World world({.tamper = quota(room)});
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.stop_operator();
  world.patch("Pod", world.head("c"), R"(metadata: {annotations: {
    ray.io/upgrade-strategy-recreate-hash: null, ray.io/kuberay-version: null}})");
  auto recreated = group_of(3);
  recreated.replace(recreated.find("{spec: {"), 8, "{spec: {upgradeStrategy: {type: Recreate}, ");
  world.patch("RayCluster", "c", recreated).start_operator();
  world.run_until(cluster_says("c", "ReplicaFailure", "True FailedCreateWorkerPod")).pass(10s);
  ASSERT_EQ(world.mirror().created("Pod"), 3);
  auto image = group_of(2);
  image.replace(image.find("image: ray"), 10, "image: ray:2");
  world.patch("RayCluster", "c", image).pass(2s);
  room = 9;
  world.run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 6) << "all of them once";
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

// A RayJob's own cluster refuses Recreate, so a submitter never stands in the head of one.
TEST(RayClusterCase, RC_34_NorIsAJobThatIsSubmittedToIt) {
  World world;
  world.apply(kCluster).patch("RayCluster", "c", kRecreate);
  world.run_until(cluster_is("c", "ready"));
  const auto head = world.head("c");
  world.apply(kJobOnC).run_until(ray_job_is("j", "RUNNING"));
  world.crash().end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(world.head("c"), head);
  EXPECT_EQ(world.mirror().created("Pod"), 4) << "with the submitter's";
}

}  // namespace
}  // namespace manta::integration
