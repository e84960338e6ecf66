// What users of the reference ran into with RayClusters. Each test has its case's id.
#include "manifests.h"
#include "ray/types.h"
#include "world.h"

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

std::string group_of(int replicas) { return fmt::format(fmt::runtime(kGroup), replicas); }

/// The operator sees nothing of this resource until its watch is let go, by a restart of the
/// stream.
void lag(World& world, kube::Resource resource) {
  world.faults().on_event = [resource](std::uint64_t, const kube::WatchRequest& request,
                                       const kube::WatchEvent&) {
    return request.resource == resource ? EventFault::Break : EventFault::None;
  };
}
void unlag(World& world) { world.faults().on_event = {}; }

/// The first write of which `matches` is true goes wrong.
void fault_once(World& world, CallFault fault, std::function<bool(const kube::Request&)> matches) {
  world.faults().on_write = [fault, matches = std::move(matches), done = false](
                                std::size_t, const kube::Request& request) mutable {
    if (done || !matches(request)) return CallFault::None;
    done = true;
    return fault;
  };
}
bool creates_pod(const kube::Request& request) {
  return request.verb == kube::Verb::Create && request.resource == kube::kPods;
}

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
}

TEST(RayClusterCase, RC_15_ZeroHostsReadAsOne) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  auto none = group_of(2);
  none.insert(none.find("groupName"), "numOfHosts: 0, ");
  world.patch("RayCluster", "c", none).settle().crash().settle();
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
  world.expect_rest();
  world.patch("RayCluster", "c", group_of(2)).run_until(cluster_is("c", "ready")).settle();
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
  auto hosts = group_of(2);
  hosts.insert(hosts.find("groupName"), "numOfHosts: 2, ");
  world.apply(kCluster).patch("RayCluster", "c", hosts);
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
}

TEST(RayClusterCase, MH_01_ALostHostTakesItsSliceAndNoOther) {
  World world({.start_operator = false});
  auto hosts = group_of(2);
  hosts.insert(hosts.find("groupName"), "numOfHosts: 4, ");
  world.apply(kCluster).patch("RayCluster", "c", hosts);
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  const auto before = world.workers("c");
  ASSERT_EQ(before.size(), 8u);
  const auto slice = label_of(world.get("Pod", before[0]), "ray.io/worker-group-replica-name");
  ASSERT_FALSE(slice.empty());
  world.remove("Pod", before[0]).settle();
  EXPECT_EQ(world.workers("c").size(), 8u);
  int survivors = 0;
  for (const auto& name : world.workers("c"))
    survivors += std::ranges::find(before, name) != before.end();
  EXPECT_EQ(survivors, 4);
}

}  // namespace
}  // namespace manta::integration
