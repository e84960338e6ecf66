// What users of the reference ran into with a cluster's features: the autoscaler, fault tolerance,
// slices of several hosts, and what the operator builds. Each test has its case's id.
#include "case_tools.h"
#include "ray/types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// kCluster with more in its spec.
std::string cluster_with(std::string_view more) {
  auto text = std::string(kCluster);
  return text.replace(text.find("spec:"), 5, fmt::format("spec:\n  {}", more));
}
const char* const kAutoscaled = "enableInTreeAutoscaling: true";

TEST(RayClusterFeature, RC_19_ServicesGoUnderTheirGateAndComeBack) {
  World world({.feature_gates = "RayClusterSuspendServices=true"});
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.patch("RayCluster", "c", "{spec: {suspend: true}}")
      .run_until(is_gone("Service", "c-head-svc"));
  world.settle().expect_rest();
  world.patch("RayCluster", "c", "{spec: {suspend: false}}")
      .run_until(exists("Service", "c-head-svc"))
      .run_until(has_workers("c", 2))
      .settle();
}

TEST(RayClusterFeature, RC_22_SelectorsDoNotDependOnUsersLabelsUnderTheirGate) {
  World world({.feature_gates = "RayClusterStableSelectors=true"});
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(dump_json(*find(world.get("Service", "c-head-svc"), {"spec", "selector"})),
            R"({"ray.io/cluster":"c","ray.io/node-type":"head"})");
}

TEST(RayClusterFeature, RC_35_SidecarsAndOverheadCountUnderTheirGate) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayClusterScheduledResources=true" : ""});
    world.apply(R"(
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: c}
spec:
  headGroupSpec: {template: {spec: {
    overhead: {cpu: "1"},
    initContainers: [
      {name: side, image: i, restartPolicy: Always, resources: {requests: {cpu: "1"}}},
      {name: plain, image: i, resources: {requests: {cpu: "2"}}}],
    containers: [{name: h, image: ray, resources: {requests: {cpu: "1"}}}]}}}
)");
    world.run_until(cluster_is("c", "ready")).settle();
    // The init container beside the sidecar needs most, for a moment.
    EXPECT_EQ(string_at(world.get("RayCluster", "c"), {"status", "desiredCPU"}), gate ? "4" : "1");
  }
}

TEST(RayClusterFeature, RC_37_ASuspendedGroupDoesNotCountAndItsTemplateStays) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  const auto before = dump_json(*find(world.get("RayCluster", "c"), {"spec", "headGroupSpec"}));
  world.patch("RayCluster", "c", group_of(2, "suspend: true")).settle();
  const auto& cluster = world.get("RayCluster", "c");
  EXPECT_EQ(int_at(cluster, {"status", "desiredWorkerReplicas"}), 0);
  EXPECT_EQ(int_at(cluster, {"status", "minWorkerReplicas"}), 0);
  EXPECT_EQ(world.workers("c").size(), 0u);
  EXPECT_EQ(dump_json(*find(cluster, {"spec", "headGroupSpec"})), before);
}

TEST(RayClusterFeature, RC_39_OneUrlNeedsNoWgetUnderItsGate) {
  World world({.feature_gates = "RayClusterHttpProbes=true"});
  auto text = std::string(kCluster);
  text.replace(text.find("2.54.0"), 6, "2.50.0");
  world.apply(text).run_until(cluster_is("c", "ready")).settle();
  const auto& worker = ray_container(world.get("Pod", world.workers("c").front()));
  EXPECT_EQ(string_at(worker, {"livenessProbe", "httpGet", "path"}), "/api/local_raylet_healthz");
  const auto& head = ray_container(world.get("Pod", world.head("c")));
  EXPECT_TRUE(find(head, {"livenessProbe", "exec"}));
  EXPECT_EQ(int_at(head, {"livenessProbe", "timeoutSeconds"}), 12) << "2 s and 10 s of wget";
}

TEST(RayClusterFeature, RC_40_ProbesFollowTheAgentsPort) {
  World world;
  auto text = std::string(kCluster);
  text.replace(text.find("rayStartParams: {}"), 18,
               "rayStartParams: {dashboard-agent-listen-port: \"9000\"}");
  world.apply(text).run_until(cluster_is("c", "ready")).settle();
  const auto& head = ray_container(world.get("Pod", world.head("c")));
  for (const auto* probe : {"livenessProbe", "readinessProbe"})
    EXPECT_EQ(int_at(head, {probe, "httpGet", "port"}), 9000);
}

// ---- the autoscaler

TEST(AutoscalerCase, AS_03_WhoServesIsTheAutoscalersChoice) {
  for (const bool random : {false, true}) {
    World world({.environment = {{"ENABLE_RANDOM_POD_DELETE", random ? "True" : ""}}});
    world.apply(cluster_with(kAutoscaled)).run_until(cluster_is("c", "ready")).settle();
    world.patch("RayCluster", "c", group_of(1)).settle();
    EXPECT_EQ(world.workers("c").size(), random ? 1u : 2u);
  }
}

TEST(AutoscalerCase, AS_04_WhatNeverStartedBeyondTheMaximumGoesUnderItsGate) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayClusterTrimPending=true" : ""});
    world.apply(cluster_with(kAutoscaled)).run_until(cluster_is("c", "ready")).settle();
    world.kubelet().hold({{"ray.io/group", "g"}});
    world.patch("RayCluster", "c", group_of(5)).settle();
    ASSERT_EQ(world.workers("c").size(), 5u);
    auto bounded = group_of(5);
    bounded.replace(bounded.find("maxReplicas: 1000"), 17, "maxReplicas: 2");
    world.patch("RayCluster", "c", bounded).settle();
    EXPECT_EQ(world.workers("c").size(), gate ? 2u : 5u);
  }
}

TEST(AutoscalerCase, AS_05_TheRoleIsForItsOwnClusterUnderItsGate) {
  World world({.feature_gates = "RayClusterScopedAutoscalerRole=true"});
  world.apply(cluster_with(kAutoscaled)).run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(
      canonical_json(*find(*world.mirror().find("Role", "c"), {"rules"})),
      R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch"]},)"
      R"({"apiGroups":["ray.io"],"resourceNames":["c"],"resources":["rayclusters"],"verbs":["get","patch"]}])");
}

TEST(AutoscalerCase, AS_07_WhatAQuotaRefusesIsAConditionUnderItsGate) {
  int room = 1;
  World world({.feature_gates = "RayClusterQuotaCondition=true", .tamper = quota(room)});
  world.apply(kCluster).run_until(cluster_says("c", "QuotaExceeded", "True QuotaExceeded"), 1s);
}

TEST(AutoscalerCase, AS_08_WorkersOfTheFirstAutoscalerAreWarnedOfOnce) {
  World world;
  auto text = cluster_with("enableInTreeAutoscaling: true\n  autoscalerOptions: {version: v1}");
  text.replace(text.rfind("spec: {containers"), 17, "spec: {restartPolicy: Always, containers");
  world.apply(text).run_until(cluster_is("c", "ready")).settle();
  int warnings = 0;
  for (const auto& event : world.events("c"))
    warnings += event.find("should be Never or unset") != std::string::npos;
  EXPECT_EQ(warnings, 1);
}

TEST(AutoscalerCase, AS_09_TheVersionInTheSpecWinsOverTheImages) {
  World world;
  world.apply(cluster_with("enableInTreeAutoscaling: true\n  autoscalerOptions: {version: v1}"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_EQ(env_of(world.get("Pod", world.head("c")), "RAY_enable_autoscaler_v2"), "false");
}

// ---- fault tolerance

const char* const kRedis = R"(gcsFaultToleranceOptions:
    redisAddress: "rediss://r:6379"
    redisUsername: {value: u}
    redisPassword: {value: "p'a\"s$s`w"}
    externalStorageNamespace: store)";
const char* const kCleanup = "c-redis-cleanup";

TEST(FaultToleranceCase, FT_01_ANamespaceThatGoesDoesNotWaitForRedis) {
  World world({.tamper = [](kube::Api& wire) {
    return std::make_unique<Refuses>(wire, kube::kJobs,
                                     "jobs is forbidden: unable to create new content in namespace "
                                     "default because it is being terminated");
  }});
  world.apply(cluster_with(kRedis)).run_until(cluster_is("c", "ready")).settle();
  world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 10s).settle();
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("namespace \"store\" may need")));
}

TEST(FaultToleranceCase, FT_02_FT_12_TheCleanUpIsAdmittedLikeItsHeadAndNeedsNothingElseOfIt) {
  World world({.feature_gates = "RayClusterMinimalRedisCleanup=true", .start_operator = false});
  world.apply(cluster_with(kRedis)).patch("RayCluster", "c", R"(
spec: {headGroupSpec: {template: {spec: {
  nodeSelector: {gpu: "yes"}, tolerations: [{key: t}],
  initContainers: [{name: i, image: i, resources: {limits: {nvidia.com/gpu: 1}}}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: p}}],
  containers: [{name: ray-head, image: ray, volumeMounts: [{name: v, mountPath: /v}],
    resources: {limits: {cpu: "1", memory: 2Gi, nvidia.com/gpu: 1}}}]}}}})");
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  world.remove("RayCluster", "c").run_until(exists("Job", kCleanup));
  const auto& pod = *find(world.get("Job", kCleanup), {"spec", "template", "spec"});
  EXPECT_EQ(canonical_json(*find(ray_container(world.get("Job", kCleanup)), {"resources"})),
            R"({"limits":{"cpu":"1","memory":"2Gi"}})");
  for (const auto* gone : {"nodeSelector", "initContainers", "volumes"})
    EXPECT_FALSE(find(pod, {gone})) << gone;
  EXPECT_TRUE(find(pod, {"tolerations"}));
}

TEST(FaultToleranceCase, FT_04_OptionsTakenAwayDoNotHoldTheDeletionUp) {
  World world;
  world.apply(cluster_with(kRedis)).run_until(cluster_is("c", "ready")).settle();
  world.patch("RayCluster", "c", "{spec: {gcsFaultToleranceOptions: null}}").settle();
  world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 10s).settle();
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("ForceDeletedStuckCluster")));
}

TEST(FaultToleranceCase, FT_05_NorDoesAnOperatorThatCleansNoLonger) {
  std::map<std::string, std::string, std::less<>> off = {{"ENABLE_GCS_FT_REDIS_CLEANUP", "false"}};
  World world({.environment = off, .start_operator = false});
  world.apply(cluster_with(kRedis)).patch("RayCluster", "c", R"(
metadata: {finalizers: [ray.io/gcs-ft-redis-cleanup-finalizer]})");
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 10s).settle();
}

TEST(FaultToleranceCase, FT_07_TheCapCountsFromTheDeletionWhateverHoldsTheHead) {
  World world;
  world.apply(cluster_with(kRedis)).run_until(cluster_is("c", "ready")).settle();
  world.kubelet().hang(world.head("c"));
  world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 310s).pass(5s);
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("ForceDeletedStuckCluster")));
  EXPECT_FALSE(world.mirror().find("Job", kCleanup));
}

TEST(FaultToleranceCase, FT_09_AStoreThatMovedToDiskLeavesNoFinalizerBehind) {
  World world({.feature_gates = "GCSFaultToleranceEmbeddedStorage=true"});
  world.apply(cluster_with("gcsFaultToleranceOptions: {redisAddress: \"r:6379\"}"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  world
      .patch("RayCluster", "c", R"({spec: {gcsFaultToleranceOptions: {
        backend: rocksdb, redisAddress: null, storage: {deletionPolicy: Retain}}}})")
      .settle();
  EXPECT_TRUE(world.mirror().find("PersistentVolumeClaim", "c-gcs-pvc"));
  world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 10s).settle();
  EXPECT_TRUE(world.mirror().find("PersistentVolumeClaim", "c-gcs-pvc"));
}

TEST(FaultToleranceCase, FT_11_ThePasswordReachesRayAsItIsAndNoTextHoldsIt) {
  World world;
  world.apply(cluster_with(kRedis)).run_until(cluster_is("c", "ready")).settle();
  const auto& head = world.get("Pod", world.head("c"));
  EXPECT_EQ(env_of(head, "REDIS_PASSWORD"), "p'a\"s$s`w");
  EXPECT_THAT(ray_start(head), HasSubstr("--redis-password=$REDIS_PASSWORD"));
  EXPECT_THAT(dump_json(*find(ray_container(head), {"args"})), Not(HasSubstr("p'a")));
  world.remove("RayCluster", "c").run_until(exists("Job", kCleanup));
  const auto& job = world.get("Job", kCleanup);
  EXPECT_EQ(env_of(job, "REDIS_PASSWORD"), "p'a\"s$s`w");
  EXPECT_EQ(env_of(job, "RAY_REDIS_ADDRESS"), "rediss://r:6379");
  EXPECT_THAT(dump_json(*find(ray_container(job), {"args"})), Not(HasSubstr("p'a")));
}

// ---- slices of several hosts

std::string label_of(const World& world, const std::string& pod, std::string_view label) {
  return std::string(string_at(world.get("Pod", pod), {"metadata", "labels", label}));
}
const char* const kReplicaName = "ray.io/worker-group-replica-name";

int survivors(const World& world, const std::vector<std::string>& before) {
  int count = 0;
  for (const auto& name : world.workers("c")) count += std::ranges::count(before, name) > 0;
  return count;
}

World& with_slices(World& world, int replicas, int hosts) {
  world.apply(kCluster)
      .patch("RayCluster", "c", group_of(replicas, fmt::format("numOfHosts: {}", hosts)))
      .start_operator()
      .run_until(cluster_is("c", "ready"))
      .settle();
  return world;
}

// Two slices of four as an operator before 1.5 left them; no operator runs.
std::vector<std::string> with_old_pods(World& world) {
  auto pods = with_slices(world, 2, 4).workers("c");
  world.stop_operator();
  for (const auto& name : pods)
    world.patch("Pod", name, R"(metadata: {labels: {ray.io/worker-group-replica-name: null,
      ray.io/worker-group-replica-index: null, ray.io/replica-host-index: null}})");
  return pods;
}

TEST(SliceCase, MH_01_ALostHostTakesItsSliceAndNoOther) {
  World world({.start_operator = false});
  const auto before = with_slices(world, 2, 4).workers("c");
  ASSERT_EQ(before.size(), 8u);
  world.remove("Pod", before[0]).settle();
  EXPECT_EQ(world.workers("c").size(), 8u);
  EXPECT_EQ(survivors(world, before), 4);
}

TEST(SliceCase, MH_03_PodsOfAnOlderOperatorAreAdopted) {
  World world({.start_operator = false});
  const auto before = with_old_pods(world);
  world.start_operator().settle().expect_rest();
  EXPECT_EQ(survivors(world, before), 8);
  std::map<std::string, int> slices;
  for (const auto& name : before) ++slices[label_of(world, name, kReplicaName)];
  EXPECT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices.begin()->second, 4);
}

TEST(SliceCase, MH_03_AnAdoptionThatIsBrokenOffGoesOn) {
  World world({.start_operator = false});
  const auto before = with_old_pods(world);
  world.faults().on_write = [number = 0](std::size_t, const kube::Request& request) mutable {
    const bool label = request.verb == kube::Verb::Patch && request.resource == kube::kPods;
    return label && ++number == 3 ? kube::CallFault::CrashAfter : kube::CallFault::None;
  };
  world.start_operator().settle();
  EXPECT_EQ(survivors(world, before), 8);
}

TEST(SliceCase, MH_04_SlicesOfAnotherSizeAreReplacedOneByOneUnderTheirGate) {
  for (const bool gate : {false, true}) {
    World world(
        {.feature_gates = gate ? "RayClusterReplaceSlices=true" : "", .start_operator = false});
    with_slices(world, 2, 4);
    world.patch("RayCluster", "c", group_of(2, "numOfHosts: 2")).settle();
    EXPECT_EQ(world.workers("c").size(), gate ? 4u : 8u);
  }
}

TEST(SliceCase, MH_06_ANamedHostTakesItsSlice) {
  World world({.start_operator = false});
  const auto before = with_slices(world, 2, 2).workers("c");
  const auto slice = label_of(world, before[0], kReplicaName);
  world
      .patch("RayCluster", "c",
             group_of(1, fmt::format("numOfHosts: 2, scaleStrategy: {{workersToDelete: [{}]}}",
                                     before[0])))
      .settle();
  ASSERT_EQ(world.workers("c").size(), 2u);
  for (const auto& name : world.workers("c")) EXPECT_NE(label_of(world, name, kReplicaName), slice);
}

TEST(SliceCase, MH_08_IndicesOfSingleHostsStartAtZeroAgain) {
  World world;
  world.apply(kCluster).patch("RayCluster", "c", group_of(1));
  world.run_until(cluster_is("c", "ready")).settle();
  for (int round = 0; round < 3; ++round) {
    world.remove("Pod", world.workers("c").front()).settle();
    EXPECT_EQ(label_of(world, world.workers("c").front(), "ray.io/worker-group-replica-index"),
              "0");
  }
}

}  // namespace
}  // namespace manta::integration
