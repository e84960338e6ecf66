// What users of the reference ran into with RayClusters, and what helps them only with a gate of
// ours: heads on lost nodes, workers that fail again and again, later edits, who owns replicas.
#include "base/yaml.h"
#include "case_tools.h"
#include "local/apiserver/shared_types.h"
#include "ray/crd.h"
#include "ray/types.h"
#include "sim/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

int events_that_say(const World& world, std::string_view text) {
  const auto events = world.events("c");
  return static_cast<int>(std::ranges::count_if(
      events, [&](const auto& event) { return event.find(text) != std::string::npos; }));
}

/// Lets nobody read Nodes, as the reference's rights are.
class HidesNodes final : public sim::Relay {
 public:
  using Relay::Relay;
  Task<Result<kube::Response>> call(kube::Request request) override {
    if (request.resource == kube::kNodes)
      co_return failed(
          {.code = ErrorCode::Forbidden, .message = "nodes is forbidden", .http_status = 403});
    co_return co_await inner().call(std::move(request));
  }
};

// ---- RC-06

WorldOptions with_lost_heads(bool gate = true) {
  return {.environment = {{"RAYCLUSTER_LOST_HEAD_WAIT_SECONDS", "120"}},
          .feature_gates = gate ? "RayClusterReplaceLostHead=true" : ""};
}

/// The cluster is ready on the Node that every Pod runs on; the head hangs in its deletion.
std::string lose_head(World& world) {
  const Json node{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "node"}}}};
  EXPECT_TRUE(world.loop().run(world.server().create(kube::kNodes, node)));
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  auto head = world.head("c");
  world.kubelet().hang(head);
  world.remove("Pod", head);
  return head;
}
void lose_node(World& world) {
  EXPECT_TRUE(world.loop().run(world.server().remove(kube::kNodes, {{}, "node"})));
}

TEST(GatedClusterCase, RC_06_AHeadIsReplacedWhenItsNodeIsGoneUnderItsGate) {
  World world(with_lost_heads());
  const auto head = lose_head(world);
  world.pass(10min);
  EXPECT_EQ(condition_of(world, "c", "HeadTerminating"), "True DeletionPending");
  EXPECT_EQ(world.mirror().created("Pod"), 3) << "its Node may come back";
  lose_node(world);
  world.run_until(is_gone("Pod", head), 15s).run_until(has_workers("c", 2)).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 4);
  EXPECT_EQ(condition_of(world, "c", "HeadTerminating"), "absent");
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("its Node node is gone")));
  world.expect_rest();
}

TEST(GatedClusterCase, RC_06_TheWaitIsKeptAndWithoutTheGateItIsForEver) {
  for (const bool gate : {true, false}) {
    SCOPED_TRACE(gate);
    World world(with_lost_heads(gate));
    const auto head = lose_head(world);
    lose_node(world);
    world.pass(140s);  // 30 s of grace and 120 s from then on
    EXPECT_TRUE(world.mirror().find("Pod", head));
    world.pass(gate ? 20s : Duration{1h});
    EXPECT_EQ(world.mirror().find("Pod", head) == nullptr, gate);
  }
}

TEST(GatedClusterCase, RC_06_WhoMayNotReadNodesIsToldSo) {
  auto options = with_lost_heads();
  options.tamper = [](kube::Api& wire) { return std::make_unique<HidesNodes>(wire); };
  World world(std::move(options));
  const auto head = lose_head(world);
  lose_node(world);
  world.pass(5min);
  EXPECT_TRUE(world.mirror().find("Pod", head));
  EXPECT_THAT(message_of(world, "c", "HeadTerminating"),
              HasSubstr("cannot be told: nodes is forbidden"));
}

// ---- RC-10

const WorldOptions kBackoff = {.feature_gates = "RayClusterWorkerBackoff=true"};

/// Workers that wait in group g, by name.
std::vector<std::string> waiting(const World& world) {
  auto names = world.workers("c", "g");
  std::erase_if(names, [&](const auto& name) {
    const auto phase = phase_of(world.get("Pod", name));
    return phase == "Failed" || phase == "Running";
  });
  return names;
}
Until a_worker_waits() {
  return {"a worker waits", [](const World& world) { return !waiting(world).empty(); }};
}

/// Its init container ends with 42, and so does the Pod.
void fail_init(World& world, const std::string& pod) {
  const JsonObject how{{"exitCode", 42}, {"reason", "Error"}};
  const JsonObject ended{{"name", "prepare"}, {"state", JsonObject{{"terminated", how}}}};
  const JsonObject status{{"phase", "Failed"}, {"initContainerStatuses", JsonArray{ended}}};
  EXPECT_TRUE(
      world.loop().run(world.server().patch(kube::kPods, {"default", pod}, kube::PatchType::Merge,
                                            JsonObject{{"status", status}}, "status")));
}

/// A cluster with one worker in g, which never starts by itself.
World& with_idle_worker(World& world, std::string_view more = {}) {
  world.kubelet().hold({{"ray.io/group", "g"}});
  world.apply(kCluster).patch("RayCluster", "c", group_of(1, more));
  return world.start_operator().run_until(a_worker_waits());
}

/// Seconds between this attempt's failure at once and the next attempt.
std::chrono::seconds until_next_attempt(World& world) {
  for (const auto& pod : waiting(world)) fail_init(world, pod);
  const auto failed_at = world.loop().now();
  world.run_until(a_worker_waits(), 10min);
  return std::chrono::round<std::chrono::seconds>(world.loop().now() - failed_at);
}

TEST(GatedClusterCase, RC_10_WorkersThatFailAgainAndAgainAreReplacedEverMoreRarely) {
  auto options = kBackoff;
  options.start_operator = false;
  World world(std::move(options));
  with_idle_worker(world);
  for (const int want : {10, 20, 40, 80, 160, 300, 300}) {
    EXPECT_NEAR(static_cast<double>(until_next_attempt(world).count()), want, 1);
    EXPECT_EQ(condition_of(world, "c", "WorkersFailing"), "True BackOff");
    EXPECT_THAT(message_of(world, "c", "WorkersFailing"), HasSubstr("group g: Pod c-g-worker-"));
    EXPECT_THAT(message_of(world, "c", "WorkersFailing"),
                HasSubstr("init container prepare exited with code 42"));
  }
  EXPECT_EQ(world.mirror().created("Pod"), 1 + 8);
  world.kubelet().release();
  world.run_until(cluster_is("c", "ready")).settle().expect_rest();
  EXPECT_EQ(condition_of(world, "c", "WorkersFailing"), "absent");
}

TEST(GatedClusterCase, RC_10_AnOperatorThatStartsAnewRemembersAndAChangedSpecForgets) {
  auto options = kBackoff;
  options.start_operator = false;
  World world(std::move(options));
  with_idle_worker(world);
  for (int attempt = 0; attempt < 4; ++attempt) until_next_attempt(world);
  for (const auto& pod : waiting(world)) fail_init(world, pod);
  world.pass(5s).crash().pass(140s);
  EXPECT_TRUE(waiting(world).empty()) << "160 s have not passed";
  auto image = group_of(1);
  image.replace(image.find("image: ray"), 10, "image: ray:2");
  world.patch("RayCluster", "c", image).run_until(a_worker_waits(), 5s);
  EXPECT_NEAR(static_cast<double>(until_next_attempt(world).count()), 10, 1);
}

TEST(GatedClusterCase, RC_10_OneThatLivedWellIsReplacedAtOnceAndOtherGroupsAreNotHeldUp) {
  World world(kBackoff);
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.pass(15min);
  world.kubelet().fail(world.workers("c").front(), "OOMKilled");
  world.run_until(has_workers("c", 2), 5s).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 4);
}

TEST(GatedClusterCase, RC_10_SlicesAreHeldBackAsAWhole) {
  auto options = kBackoff;
  options.start_operator = false;
  World world(std::move(options));
  with_idle_worker(world, "numOfHosts: 2").pass(1s);
  ASSERT_EQ(world.workers("c").size(), 2u);
  for (const int want : {10, 20, 40}) {
    const auto first = waiting(world).front();
    fail_init(world, first);
    world.pass(std::chrono::seconds{want - 3});
    EXPECT_TRUE(world.mirror().find("Pod", first)) << want;
    world.run_until(is_gone("Pod", first), 5s).run_until(a_worker_waits(), 5s).pass(100ms);
    EXPECT_EQ(waiting(world).size(), 2u);
  }
}

TEST(GatedClusterCase, RC_10_WithoutTheGateTheyAreReplacedAtOnce) {
  World world({.start_operator = false});
  with_idle_worker(world);
  EXPECT_LT(until_next_attempt(world), 5s);
  EXPECT_EQ(condition_of(world, "c", "WorkersFailing"), "absent");
}

// ---- RC-23, SEEN-07

WorldOptions follows(bool gate) {
  return {.feature_gates = gate ? "RayClusterFollowEdits=true" : ""};
}

const Json& head_service(const World& world) { return world.get("Service", "c-head-svc"); }
std::string annotation_of(const World& world, std::string_view key) {
  return std::string(string_at(head_service(world), {"metadata", "annotations", key}, "(absent)"));
}
std::string ports_of(const World& world) {
  std::vector<std::string> names;
  for (const auto& port : array_at(head_service(world), {"spec", "ports"}))
    names.push_back(fmt::format("{}:{}", string_at(port, {"name"}), int_at(port, {"port"})));
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, " "));
}

const char* const kEdits = R"({spec: {
  headServiceAnnotations: {kept: "2", dropped: null},
  headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: ray, ports: [
    {name: gcs-server, containerPort: 6379}, {name: dashboard, containerPort: 8290},
    {name: serve, containerPort: 8000}]}]}}}}})";

World& with_edits(World& world) {
  world.apply(kCluster)
      .patch("RayCluster", "c", R"({spec: {headServiceAnnotations: {kept: "1", dropped: "1"}}})")
      .start_operator()
      .run_until(cluster_is("c", "ready"))
      .settle();
  world.patch("Service", "c-head-svc", R"({metadata: {annotations: {theirs: x}}, spec: {ports: [
    {name: client, port: 10001}, {name: gcs-server, port: 6379}, {name: dashboard, port: 8265},
    {name: serve, port: 8000}, {name: metrics, port: 8080}, {name: theirs, port: 7}]}})");
  return world.settle().patch("RayCluster", "c", kEdits).settle().expect_rest();
}

TEST(GatedClusterCase, RC_23_TheHeadServiceFollowsEditsAndKeepsWhatOthersPutThere) {
  for (const bool gate : {true, false}) {
    SCOPED_TRACE(gate);
    auto options = follows(gate);
    options.start_operator = false;
    World world(std::move(options));
    with_edits(world);
    EXPECT_EQ(annotation_of(world, "kept"), gate ? "2" : "1");
    EXPECT_EQ(annotation_of(world, "dropped"), gate ? "(absent)" : "1");
    EXPECT_EQ(annotation_of(world, "theirs"), "x");
    EXPECT_EQ(ports_of(world),
              gate
                  ? "dashboard:8290 gcs-server:6379 metrics:8080 serve:8000 theirs:7"
                  : "client:10001 dashboard:8265 gcs-server:6379 metrics:8080 serve:8000 theirs:7");
    EXPECT_EQ(
        string_at(world.get("RayCluster", "c"), {"status", "endpoints", "client"}, "(absent)"),
        gate ? "(absent)" : "10001")
        << "SEEN-07";
  }
}

TEST(GatedClusterCase, RC_23_WhatCannotBeChangedInPlaceIsSaid) {
  World world(follows(true));
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.patch("RayCluster", "c", "{spec: {headGroupSpec: {serviceType: NodePort}}}").settle();
  EXPECT_EQ(condition_of(world, "c", "HeadServiceDrift"), "True ImmutableFields");
  EXPECT_THAT(message_of(world, "c", "HeadServiceDrift"),
              HasSubstr("spec.type is ClusterIP, not NodePort"));
  world.expect_rest();
  world.remove("Service", "c-head-svc").run_until(exists("Service", "c-head-svc")).settle();
  EXPECT_EQ(string_at(head_service(world), {"spec", "type"}), "NodePort");
  EXPECT_EQ(condition_of(world, "c", "HeadServiceDrift"), "absent");
  world.expect_rest();
}

TEST(GatedClusterCase, RC_23_AnEditThatIsRefusedHoldsUpNothing) {
  World world(follows(true));
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  world.faults().on_write = [](std::size_t, const kube::Request& request) {
    return request.verb == kube::Verb::Patch && request.resource == kube::kServices
               ? kube::CallFault::Forbidden
               : kube::CallFault::None;
  };
  world.patch("RayCluster", "c", R"({spec: {headServiceAnnotations: {a: "1"}}})").pass(5s);
  world.patch("RayCluster", "c", group_of(4)).run_until(has_workers("c", 4), 5s);
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("FailedToUpdateService")));
  world.faults().on_write = {};
  world.pass(20min).settle();
  EXPECT_EQ(annotation_of(world, "a"), "1");
}

TEST(GatedClusterCase, SEEN_07_AnIngressThatIsSwitchedOffGoesUnderItsGate) {
  for (const bool gate : {true, false}) {
    World world(follows(gate));
    world.apply(kCluster)
        .patch("RayCluster", "c", "{spec: {headGroupSpec: {enableIngress: true}}}")
        .run_until(exists("Ingress", "c-head-ingress"))
        .settle();
    world.patch("RayCluster", "c", "{spec: {headGroupSpec: {enableIngress: false}}}").settle();
    EXPECT_EQ(world.mirror().find("Ingress", "c-head-ingress") == nullptr, gate);
    EXPECT_EQ(events_that_say(world, "DeletedIngress"), gate ? 1 : 0);
    world.expect_rest();
  }
}

TEST(GatedClusterCase, SEEN_07_AnIngressOfSomebodyElseStays) {
  World world(follows(true));
  world.apply(R"(
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: c-head-ingress}
spec: {defaultBackend: {service: {name: other, port: {number: 80}}}}
)");
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  EXPECT_TRUE(world.mirror().find("Ingress", "c-head-ingress"));
}

// ---- AS-01

/// As deploy/kustomize/crd-merged-groups has it.
std::shared_ptr<const local::SharedTypes> with_groups_merged_by_name() {
  std::vector<Json> crds;
  for (auto& [file, crd] : ray::ray_crds()) {
    if (string_at(crd, {"metadata", "name"}) == "rayclusters.ray.io")
      for (auto& version : crd.at("spec").at("versions").as_array()) {
        auto& groups = version.at_pointer(
            "/schema/openAPIV3Schema/properties/spec/properties/workerGroupSpecs");
        groups.as_object()["x-kubernetes-list-type"] = "map";
        groups.as_object()["x-kubernetes-list-map-keys"] = JsonArray{"groupName"};
      }
    crds.push_back(std::move(crd));
  }
  return std::make_shared<const local::SharedTypes>(crds);
}

/// kCluster with an autoscaler, with or without replicas, applied by the server as GitOps tools do.
void sync(World& world, bool with_replicas, std::string_view ray_version = "2.54.0") {
  auto text = std::string(kCluster);
  text.replace(text.find("spec:"), 5, "spec:\n  enableInTreeAutoscaling: true");
  if (!with_replicas) text.replace(text.find("    replicas: 2\n"), 16, "");
  text.replace(text.find("2.54.0"), 6, ray_version);
  kube::Request request{.verb = kube::Verb::Patch,
                        .resource = ray::kRayClusters,
                        .namespace_ = "default",
                        .name = "c",
                        .body = parse_yaml_one(text).value(),
                        .patch_type = kube::PatchType::Apply,
                        .field_manager = "gitops",
                        .force = true};
  const auto answer = world.loop().run(world.server().call(std::move(request)));
  EXPECT_TRUE(answer) << answer.error().message;
}

/// As Ray's autoscaler does it.
void autoscale(World& world, int replicas) {
  kube::Request request{
      .verb = kube::Verb::Patch,
      .resource = ray::kRayClusters,
      .namespace_ = "default",
      .name = "c",
      .body = JsonArray{JsonObject{
          {"op", "replace"}, {"path", "/spec/workerGroupSpecs/0/replicas"}, {"value", replicas}}},
      .patch_type = kube::PatchType::Json,
      .field_manager = "autoscaler"};
  EXPECT_TRUE(world.loop().run(world.server().call(std::move(request))));
}

std::string owners_of_replicas(const World& world) {
  std::string owners;
  for (const auto& entry : array_at(world.get("RayCluster", "c"), {"metadata", "managedFields"}))
    if (const auto* groups = find(entry, {"fieldsV1", "f:spec", "f:workerGroupSpecs"}))
      for (const auto& group : groups->get_object())
        if (find(group.value(), {"f:replicas"}))
          owners += fmt::format("{} ", string_at(entry, {"manager"}));
  return owners;
}

TEST(AutoscalerCase, AS_01_ReplicasThatNoManifestHasAreTheAutoscalersAlone) {
  World world(
      {.feature_gates = "RayClusterReplicasOwner=true", .kinds = with_groups_merged_by_name()});
  sync(world, false);
  world.settle();
  autoscale(world, 3);
  world.run_until(has_workers("c", 3)).settle();
  for (int round = 0; round < 5; ++round) {
    world.pass(30s);
    sync(world, false);
    EXPECT_EQ(owners_of_replicas(world), "autoscaler ");
  }
  world.settle();
  EXPECT_EQ(world.workers("c").size(), 3u);
  EXPECT_EQ(world.mirror().created("Pod"), 4);
  EXPECT_EQ(condition_of(world, "c", "ReplicasContested"), "absent");
}

TEST(AutoscalerCase, AS_01_ReplicasInTheManifestAreWarnedOfOnce) {
  for (const bool gate : {true, false}) {
    SCOPED_TRACE(gate);
    World world({.feature_gates = gate ? "RayClusterReplicasOwner=true" : "",
                 .kinds = with_groups_merged_by_name()});
    for (int round = 0; round < 3; ++round) {
      sync(world, true);
      world.settle();
      autoscale(world, 3 + round);
      world.settle();
    }
    EXPECT_EQ(events_that_say(world, "ReplicasInManifest"), gate ? 1 : 0);
    EXPECT_EQ(condition_of(world, "c", "ReplicasContested"),
              gate ? "True ReplicasInManifest" : "absent");
    if (!gate) continue;
    EXPECT_THAT(message_of(world, "c", "ReplicasContested"), HasSubstr("gitops applied replicas"));
    sync(world, false, "2.54.1");  // an apply that changes nothing is not seen
    world.settle();
    EXPECT_EQ(condition_of(world, "c", "ReplicasContested"), "absent");
  }
}

TEST(AutoscalerCase, AS_01_WithTheReferencesDefinitionTheWholeListIsContested) {
  World world({.feature_gates = "RayClusterReplicasOwner=true"});
  sync(world, false);
  world.settle();
  EXPECT_THAT(message_of(world, "c", "ReplicasContested"), HasSubstr("as a whole"));
}

TEST(AutoscalerCase, AS_01_KubectlApplyIsRecognisedByItsAnnotation) {
  World world({.feature_gates = "RayClusterReplicasOwner=true"});
  world.apply(kCluster)
      .patch("RayCluster", "c", R"({spec: {enableInTreeAutoscaling: true}, metadata: {annotations: {
        kubectl.kubernetes.io/last-applied-configuration:
        "{\"spec\": {\"workerGroupSpecs\": [{\"groupName\": \"g\", \"replicas\": 2}]}}"}}})")
      .run_until(cluster_says("c", "ReplicasContested", "True ReplicasInManifest"))
      .settle();
}

}  // namespace
}  // namespace manta::integration
