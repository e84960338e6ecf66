// Faults that showed on the running reference operator: RayCluster and what it builds. Each test
// has its id.
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

/// kCluster with this in place of its head's Ray container; `params` are the head's.
std::string with_head(std::string_view container, std::string_view params = "{}",
                      std::string_view annotations = "{}") {
  return fmt::format(R"(
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: c, annotations: {}}}
spec:
  rayVersion: "2.54.0"
  headGroupSpec: {{rayStartParams: {}, template: {{spec: {{containers: [{}]}}}}}}
)",
                     annotations, params, container);
}
std::string head_args(const World& world) {
  return dump_json(*find(ray_container(world.get("Pod", world.head("c"))), {"args"}));
}

TEST(Seen, SEEN_01_ARemovedGroupIsNamedAtOnce) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.patch("RayCluster", "c", "{spec: {workerGroupSpecs: []}}")
      .run_until(cluster_says("c", "OrphanedWorkerGroup", "True GroupNotInSpec"), 1s);
  EXPECT_EQ(message_of(world, "c", "OrphanedWorkerGroup"),
            "Pods of worker groups that are no longer in the spec run on and are not replaced: g");
  world.settle();
  EXPECT_EQ(world.workers("c").size(), 2u);
}

TEST(Seen, SEEN_02_AbsentSuspendMeansFalse) {
  World world;
  world.apply(kCluster).patch("RayCluster", "c", "{spec: {suspend: true}}");
  world.run_until(cluster_is("c", "suspended"));
  world.patch("RayCluster", "c", "{spec: {suspend: null}}").run_until(cluster_is("c", "ready"));
  world.settle();
}

TEST(Seen, SEEN_03_ProvisionedWaitsForRefusedPodsUnderItsGate) {
  for (const bool gate : {false, true}) {
    int room = 1;
    World world(
        {.feature_gates = gate ? "RayClusterStrictProvisioned=true" : "", .tamper = quota(room)});
    world.apply(kCluster).pass(10s);
    EXPECT_EQ(condition_of(world, "c", "ReplicaFailure"), "True FailedCreateWorkerPod");
    EXPECT_EQ(condition_of(world, "c", "RayClusterProvisioned").substr(0, 5),
              gate ? "False" : "True ");
    room = 9;
    world.run_until(cluster_is("c", "ready"));
    world.run_until(
        cluster_says("c", "RayClusterProvisioned", "True AllPodRunningAndReadyFirstTime"));
  }
}

TEST(Seen, SEEN_04_AGroupNamedLikeTheHeadsIsRefused) {
  World world;
  auto text = std::string(kCluster);
  text.replace(text.find("groupName: g"), 12, "groupName: headgroup");
  world.apply(text).settle().expect_rest();
  EXPECT_EQ(world.mirror().created("Pod"), 0);
  EXPECT_EQ(condition_of(world, "c", "InvalidSpec"), "True InvalidRayClusterSpec");
}

TEST(Seen, SEEN_05_NegativeReplicasTakeNothingAway) {
  World world;
  world.apply(kCluster)
      .patch("RayCluster", "c", R"(spec: {workerGroupSpecs: [
        {groupName: g, replicas: -3, minReplicas: 0, maxReplicas: 4, template: {spec: {containers: [
          {name: w, image: ray, resources: {requests: {cpu: "1"}}}]}}}]})")
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_EQ(string_at(world.get("RayCluster", "c"), {"status", "desiredCPU"}), "1");
}

TEST(Seen, SEEN_06_NothingIsSaidToBeDeletedWhereNothingWas) {
  World world;
  auto asleep = std::string(kCluster);
  asleep.replace(asleep.find("spec:"), 5, "spec:\n  suspend: true");
  world.apply(asleep).run_until(cluster_is("c", "suspended")).settle();
  auto group = std::string(kCluster);
  group.replace(group.find("{name: c}"), 9, "{name: d}");
  group.replace(group.find("groupName: g"), 12, "groupName: g\n    suspend: true");
  world.apply(group).run_until(cluster_is("d", "ready")).settle();
  for (const auto* name : {"c", "d"})
    EXPECT_THAT(world.events(name), Not(Contains(HasSubstr("Deleted")))) << name;
}

TEST(Seen, SEEN_08_AHeadThatDiesShowsWhileTheSpecIsInvalid) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  auto impossible = group_of(2);
  impossible.replace(impossible.find("minReplicas: 0"), 14, "minReplicas: 5000");
  world.patch("RayCluster", "c", impossible).settle();
  EXPECT_EQ(condition_of(world, "c", "HeadPodReady"), "True HeadPodRunningAndReady");
  world.remove("Pod", world.head("c")).settle();
  EXPECT_EQ(condition_of(world, "c", "HeadPodReady"), "False HeadPodNotFound");
  world.expect_rest();
}

std::string head_service_ports(const World& world) {
  std::string ports;
  for (const auto& port : array_at(world.get("Service", "c-head-svc"), {"spec", "ports"}))
    ports += fmt::format("{}:{} ", string_at(port, {"name"}), int_at(port, {"port"}));
  return ports;
}

TEST(Seen, SEEN_09_PortsInTheParametersReachPodAndServiceUnderTheirGate) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayClusterPortsFromParams=true" : ""});
    world
        .apply(with_head("{name: h, image: ray}",
                         R"({dashboard-port: "8290", port: "6400", metrics-export-port: "9191"})"))
        .run_until(cluster_is("c", "ready"))
        .settle();
    EXPECT_EQ(head_service_ports(world),
              gate ? "client:10001 dashboard:8290 gcs-server:6400 metrics:9191 serve:8000 "
                   : "client:10001 dashboard:8265 gcs-server:6379 metrics:8080 serve:8000 ");
    EXPECT_EQ(array_at(ray_container(world.get("Pod", world.head("c"))), {"ports"}).size(),
              gate ? 5u : 1u);
  }
}

TEST(Seen, SEEN_09_AParameterMovesADeclaredPort) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayClusterPortsFromParams=true" : ""});
    world
        .apply(with_head("{name: h, image: ray, ports: ["
                         "{containerPort: 6379, name: gcs-server}, "
                         "{containerPort: 8265, name: dashboard, hostPort: 8265}, "
                         "{containerPort: 10001, name: client}, {containerPort: 7, name: mine}]}",
                         R"({dashboard-port: "8290", ray-client-server-port: "10101"})"))
        .run_until(cluster_is("c", "ready"))
        .settle();
    EXPECT_EQ(head_service_ports(world),
              gate ? "client:10101 dashboard:8290 gcs-server:6379 metrics:8080 mine:7 "
                   : "client:10001 dashboard:8265 gcs-server:6379 metrics:8080 mine:7 ");
    std::string ports;
    for (const auto& port : array_at(ray_container(world.get("Pod", world.head("c"))), {"ports"}))
      ports += fmt::format("{}/{} ", int_at(port, {"containerPort"}), int_at(port, {"hostPort"}));
    EXPECT_EQ(ports, gate ? "6379/0 8290/8290 10101/0 7/0 8080/0 "
                          : "6379/0 8265/8265 10001/0 7/0 8080/0 ");
  }
}

TEST(Seen, SEEN_10_UdpPortsStayUdp) {
  World world;
  world
      .apply(with_head("{name: h, image: ray, ports: [{name: quic, containerPort: 9, "
                       "protocol: UDP}]}"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  for (const auto& port : array_at(world.get("Service", "c-head-svc"), {"spec", "ports"}))
    EXPECT_EQ(string_at(port, {"protocol"}), string_at(port, {"name"}) == "quic" ? "UDP" : "TCP");
}

TEST(Seen, SEEN_11_RayIsStartedOnceAndAScriptStaysWhole) {
  for (const bool script : {false, true}) {
    World world;
    world
        .apply(with_head(script ? R"({name: h, image: ray, command: [sh, -c, "a; b"]})"
                                : "{name: h, image: ray, command: [ray, start]}"))
        .run_until(cluster_is("c", "ready"))
        .settle();
    if (script)
      EXPECT_THAT(head_args(world), HasSubstr("sh  -c  'a; b'  && ulimit"));
    else
      EXPECT_EQ(dump_json(*find(ray_container(world.get("Pod", world.head("c"))), {"command"})),
                R"(["ray","start"])");
  }
}

TEST(Seen, SEEN_12_UnreadableResourcesAreSaidAndGpusCounted) {
  World world;
  world
      .apply(with_head("{name: h, image: ray, resources: {limits: {nvidia.com/gpu: 2}}}",
                       R"({resources: "{a:1"})"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_THAT(ray_start(world.get("Pod", world.head("c"))), HasSubstr("--num-gpus=2"));
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("no JSON object of numbers")));
}

TEST(Seen, SEEN_13_ThreeTenthsStayThreeTenths) {
  World world;
  world.apply(kCluster)
      .patch("RayCluster", "c", "{spec: {headGroupSpec: {resources: {slots: \"0.3\"}}}}")
      .run_until(cluster_is("c", "ready"));
  world.settle();
  world.remove("Pod", world.head("c")).settle();
  EXPECT_THAT(ray_start(world.get("Pod", world.head("c"))), HasSubstr("'{\"slots\":0.3}'"));
}

TEST(Seen, SEEN_14_DevicesOfTwoKindsAreBothCounted) {
  World world;
  world
      .apply(with_head("{name: h, image: ray, resources: {limits: {nvidia.com/gpu: 1, amd.com/gpu: "
                       "2, google.com/tpu: 4, aws.amazon.com/neuroncore: 8}}}"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  const auto start = ray_start(world.get("Pod", world.head("c")));
  EXPECT_THAT(start, HasSubstr("--num-gpus=3"));
  EXPECT_THAT(start, HasSubstr(R"('{"TPU":4,"neuron_cores":8}')"));
}

TEST(Seen, SEEN_15_AnEmptyIngressClassBlocksNothing) {
  World world;
  world.apply(with_head("{name: h, image: ray}", "{}", R"({kubernetes.io/ingress.class: ""})"))
      .patch("RayCluster", "c", "{spec: {headGroupSpec: {enableIngress: true}}}")
      .run_until(cluster_is("c", "ready"))
      .settle()
      .expect_rest();
  EXPECT_FALSE(find(world.get("Ingress", "c-head-ingress"), {"spec", "ingressClassName"}));
}

TEST(Seen, SEEN_16_AnEmptyStorageNamespaceIsNoNamespace) {
  World world;
  world
      .apply(with_head("{name: h, image: ray, env: [{name: RAY_REDIS_ADDRESS, value: r}]}", "{}",
                       R"({ray.io/ft-enabled: "true", ray.io/external-storage-namespace: ""})"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_EQ(env_of(world.get("Pod", world.head("c")), "RAY_external_storage_namespace"),
            string_at(world.get("RayCluster", "c"), {"metadata", "uid"}));
}

TEST(Seen, SEEN_17_APasswordByVariableIsTheVariablesValueInTheCleanUpToo) {
  World world;
  world
      .apply(with_head("{name: h, image: ray, env: [{name: RAY_REDIS_ADDRESS, value: r}, {name: "
                       "PW, value: a b}]}",
                       "{redis-password: $PW}", R"({ray.io/ft-enabled: "true"})"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_EQ(env_of(world.get("Pod", world.head("c")), "REDIS_PASSWORD"), "$(PW)");
  world.remove("RayCluster", "c").run_until(exists("Job", "c-redis-cleanup"));
  EXPECT_EQ(env_of(world.get("Job", "c-redis-cleanup"), "REDIS_PASSWORD"), "$(PW)");
}

TEST(Seen, SEEN_18_TheSidecarsSeeLogsOnTheUsersVolume) {
  World world({.feature_gates = "RayClusterHistoryServer=true", .start_operator = false});
  world.apply(with_head("{name: h, image: ray, volumeMounts: [{name: v, mountPath: /tmp/ray}]}"))
      .patch("RayCluster", "c", R"({spec: {enableInTreeAutoscaling: true,
        historyServerOptions: {collectorOptions: {
          image: i, env: [{name: STORAGE_BACKEND, value: local}]}},
        headGroupSpec: {template: {spec: {volumes: [{name: v, emptyDir: {}}]}}}}})");
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  const auto& containers = array_at(world.get("Pod", world.head("c")), {"spec", "containers"});
  ASSERT_EQ(containers.size(), 3u);
  EXPECT_EQ(string_at(containers[1], {"name"}), "autoscaler");
  EXPECT_EQ(string_at(containers[2], {"name"}), "ray-history-collector");
  for (const auto sidecar : {1u, 2u})
    EXPECT_EQ(dump_json(*find(containers[sidecar], {"volumeMounts"})),
              R"([{"name":"v","mountPath":"/tmp/ray"}])");
}

TEST(Seen, SEEN_19_UsersUsageTagsStay) {
  World world;
  world
      .apply(with_head("{name: h, image: ray, env: [{name: RAY_USAGE_STATS_EXTRA_TAGS, value: "
                       "team=blue}]}"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_THAT(env_of(world.get("Pod", world.head("c")), "RAY_USAGE_STATS_EXTRA_TAGS"),
              HasSubstr("team=blue;kuberay_version="));
}

}  // namespace
}  // namespace manta::integration
