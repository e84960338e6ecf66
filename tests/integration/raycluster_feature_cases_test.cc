// What users of the reference ran into with a cluster's features: the autoscaler, fault tolerance,
// slices of several hosts, and what the operator builds. Each test has its case's id.
#include "case_tools.h"
#include "kept_log.h"
#include "ray/types.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

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

TEST(RayClusterFeature, RC_22_TheServiceFindsAHeadWhoseLabelsWereEditedUnderItsGate) {
  const auto label = [](std::string_view app) {
    return fmt::format(
        "{{spec: {{headGroupSpec: {{template: {{metadata: {{labels: "
        "{{app.kubernetes.io/name: {}}}}}}}}}}}}}",
        app);
  };
  for (const bool gate : {true, false}) {
    SCOPED_TRACE(gate);
    World world(
        {.feature_gates = gate ? "RayClusterStableSelectors=true" : "", .start_operator = false});
    world.apply(kCluster).patch("RayCluster", "c", label("before"));
    world.start_operator().run_until(cluster_is("c", "ready")).settle();
    const auto finds_head = [&world] {
      const auto& labels = object_at(world.get("Pod", world.head("c")), {"metadata", "labels"});
      for (const auto& want : object_at(world.get("Service", "c-head-svc"), {"spec", "selector"}))
        if (const auto* has = labels.if_contains(want.key()); !has || *has != want.value())
          return false;
      return true;
    };
    EXPECT_TRUE(finds_head());
    world.patch("RayCluster", "c", label("after")).settle();
    EXPECT_TRUE(finds_head()) << "the head that runs is not cut off";
    world.remove("Pod", world.head("c")).settle();
    EXPECT_EQ(string_at(world.get("Pod", world.head("c")),
                        {"metadata", "labels", "app.kubernetes.io/name"}),
              "after");
    EXPECT_EQ(finds_head(), gate);
    world.expect_rest();
  }
}

TEST(RayClusterFeature, RC_22_SoDoesAServiceFromBeforeTheGate) {
  for (const bool gate : {true, false}) {
    SCOPED_TRACE(gate);
    World world({.feature_gates = gate ? "RayClusterStableSelectors=true" : ""});
    world.apply(kCluster).run_until(cluster_is("c", "ready")).settle().stop_operator();
    world.patch("Service", "c-head-svc", "{spec: {selector: {app.kubernetes.io/name: kuberay}}}");
    world.start_operator();
    world.settle().expect_rest();
    const auto& selector = object_at(world.get("Service", "c-head-svc"), {"spec", "selector"});
    EXPECT_EQ(selector.contains("app.kubernetes.io/name"), !gate);
    EXPECT_EQ(string_at(Json(selector), {"ray.io/cluster"}), "c");
    EXPECT_EQ(string_at(Json(selector), {"ray.io/node-type"}), "head");
    EXPECT_THAT(world.events("c"), Contains(HasSubstr("UpdatedService")).Times(gate ? 1 : 0));
  }
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
  constexpr const char* kGroups = R"(spec: {{workerGroupSpecs: [
    {{groupName: g, replicas: 2, minReplicas: 2, maxReplicas: 9, suspend: {}, rayStartParams: {{}},
     template: {{metadata: {{labels: {{mine: x}}}}, spec: {{containers: [
       {{name: w, image: ray, resources: {{limits: {{cpu: "4"}}}}}}]}}}}}}]}})";
  World world({.start_operator = false});
  world.apply(kCluster).patch("RayCluster", "c", fmt::format(fmt::runtime(kGroups), false));
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  const auto templates = [&world] {
    const auto& spec = *find(world.get("RayCluster", "c"), {"spec"});
    return dump_json(*find(spec, {"headGroupSpec"})) +
           dump_json(*find(array_at(spec, {"workerGroupSpecs"}).at(0), {"template"}));
  };
  const auto totals = [&world] {
    const auto& status = *find(world.get("RayCluster", "c"), {"status"});
    return fmt::format("{} of at least {}, {} CPUs", int_at(status, {"desiredWorkerReplicas"}),
                       int_at(status, {"minWorkerReplicas"}), string_at(status, {"desiredCPU"}));
  };
  const auto before = templates();
  EXPECT_EQ(totals(), "2 of at least 2, 9 CPUs");
  world.patch("RayCluster", "c", fmt::format(fmt::runtime(kGroups), true)).settle();
  EXPECT_EQ(totals(), "0 of at least 0, 1 CPUs");
  EXPECT_EQ(world.workers("c").size(), 0u);
  EXPECT_EQ(templates(), before);
}

/// "httpGet /path in 2 s", or "wget in 5 s of 12": what a probe does, in what time, of what its
/// commands may take.
std::string describe_probe(const Json& pod, std::string_view name) {
  const auto& probe = *find(ray_container(pod), {name});
  const auto timeout = int_at(probe, {"timeoutSeconds"});
  if (find(probe, {"httpGet"}))
    return fmt::format("httpGet {} in {} s", string_at(probe, {"httpGet", "path"}), timeout);
  std::string_view script = array_at(probe, {"exec", "command"}).at(2).get_string();
  int commands_take = 0;
  for (auto at = script.find("-T "); at != std::string_view::npos; at = script.find("-T ", at + 3))
    commands_take += std::atoi(script.data() + at + 3);
  return fmt::format("wget in {} s of {}", timeout, commands_take);
}

struct ProbeRow {
  const char* ray;
  bool of_service;  // a RayService's worker has to have a proxy that answers
  bool gate;
  const char* head;
  const char* worker_lives;
  const char* worker_serves;
};
const ProbeRow kProbes[] = {
    {"2.50.0", false, false, "wget in 5 s of 12", "wget in 2 s of 2", "wget in 2 s of 2"},
    {"2.50.0", false, true, "wget in 12 s of 12", "httpGet /api/local_raylet_healthz in 2 s",
     "httpGet /api/local_raylet_healthz in 2 s"},
    {"2.50.0", true, false, "wget in 5 s of 12", "wget in 2 s of 2", "wget in 2 s of 12"},
    {"2.50.0", true, true, "wget in 12 s of 12", "httpGet /api/local_raylet_healthz in 2 s",
     "wget in 12 s of 12"},
    {"2.54.0", false, false, "httpGet /api/healthz in 5 s", "httpGet /api/healthz in 2 s",
     "httpGet /api/healthz in 2 s"},
    {"2.54.0", false, true, "httpGet /api/healthz in 5 s", "httpGet /api/healthz in 2 s",
     "httpGet /api/healthz in 2 s"},
    {"2.54.0", true, true, "httpGet /api/healthz in 5 s", "httpGet /api/healthz in 2 s",
     "wget in 12 s of 12"},
};

TEST(RayClusterFeature, RC_39_OneUrlNeedsNoWgetAndACommandHasItsTimeUnderTheirGate) {
  for (const auto& row : kProbes) {
    SCOPED_TRACE(
        fmt::format("Ray {} of a service {} with the gate {}", row.ray, row.of_service, row.gate));
    World world({.feature_gates = row.gate ? "RayClusterHttpProbes=true" : ""});
    auto text = std::string(kCluster);
    text.replace(text.find("2.54.0"), 6, row.ray);
    if (row.of_service)
      text.replace(text.find("{name: c}"), 9,
                   "{name: c, labels: {ray.io/originated-from-crd: RayService}}");
    world.apply(text).run_until(has_workers("c", 2)).settle();
    const auto& head = world.get("Pod", world.head("c"));
    EXPECT_EQ(describe_probe(head, "livenessProbe"), row.head);
    EXPECT_EQ(describe_probe(head, "readinessProbe"), row.head);
    const auto& worker = world.get("Pod", world.workers("c").front());
    EXPECT_EQ(describe_probe(worker, "livenessProbe"), row.worker_lives);
    EXPECT_EQ(describe_probe(worker, "readinessProbe"), row.worker_serves);
  }
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
    const auto told = [&] { return condition_of(world, "c", "WorkersBeyondMaximum"); };
    EXPECT_EQ(told(), gate ? "absent" : "True NeverRan");
    world.kubelet().release();
    world.settle();
    EXPECT_EQ(told(), "absent") << "Ray knows them now, and its autoscaler may choose";
  }
}

bool lists(const Json& rule, std::string_view field, std::string_view word) {
  return std::ranges::any_of(array_at(rule, {field}), [&](const Json& item) {
    return std::string_view(item.get_string()) == word;
  });
}

struct RoleCall {
  const char* verb;
  const char* group;
  const char* resource;
  const char* name = "";
};
bool may(const World& world, const RoleCall& call) {
  return std::ranges::any_of(array_at(world.get("Role", "c"), {"rules"}), [&](const Json& rule) {
    return lists(rule, "verbs", call.verb) && lists(rule, "apiGroups", call.group) &&
           lists(rule, "resources", call.resource) &&
           (!find(rule, {"resourceNames"}) || lists(rule, "resourceNames", call.name));
  });
}

// As ray/autoscaler/_private/kuberay and v2/…/kuberay of Ray 2.60 call the API server.
const RoleCall kBothVersionsCall[] = {{"get", "ray.io", "rayclusters", "c"},
                                      {"patch", "ray.io", "rayclusters", "c"},
                                      {"list", "", "pods"},
                                      {"watch", "", "pods"},
                                      {"get", "", "pods", "c-head"}};
const RoleCall kResizingCalls[] = {{"patch", "", "pods", "c-g-worker-x"},
                                   {"patch", "", "pods/resize", "c-g-worker-x"}};
const RoleCall kNobodyCalls[] = {{"get", "ray.io", "rayclusters", "another"},
                                 {"patch", "ray.io", "rayclusters", "another"}};

TEST(AutoscalerCase, AS_05_TheRoleIsForWhatItsOwnAutoscalerCallsUnderItsGate) {
  for (const bool gate : {true, false})
    for (const bool resizes : {true, false}) {
      SCOPED_TRACE(fmt::format("gate {}, resizes {}", gate, resizes));
      World world({.feature_gates = gate ? "RayClusterScopedAutoscalerRole=true" : ""});
      auto text = cluster_with(kAutoscaled);
      if (resizes)
        text.replace(text.find("{name: c}"), 9,
                     R"({name: c, annotations: {ray.io/ippr: '{"groups": {}}'}})");
      world.apply(text).run_until(cluster_is("c", "ready")).settle();
      for (const auto& call : kBothVersionsCall) EXPECT_TRUE(may(world, call)) << call.resource;
      for (const auto& call : kResizingCalls)
        EXPECT_EQ(may(world, call), resizes || !gate) << call.resource;
      for (const auto& call : kNobodyCalls) EXPECT_EQ(may(world, call), !gate) << call.verb;
      for (const auto* verb : {"create", "update", "delete", "deletecollection"})
        for (const auto* resource : {"pods", "rayclusters"})
          for (const auto* group : {"", "ray.io"})
            EXPECT_FALSE(may(world, {verb, group, resource, "c"})) << verb << ' ' << resource;
    }
}

TEST(AutoscalerCase, AS_07_WhatAQuotaRefusesIsAConditionUnderItsGate) {
  for (const bool gate : {true, false}) {
    int room = 1;
    World world(
        {.feature_gates = gate ? "RayClusterQuotaCondition=true" : "", .tamper = quota(room)});
    world.apply(cluster_with(kAutoscaled)).pass(1s);
    EXPECT_EQ(condition_of(world, "c", "QuotaExceeded"), gate ? "True QuotaExceeded" : "absent");
    for (const auto& item : array_at(world.get("RayCluster", "c"), {"status", "conditions"}))
      if (string_at(item, {"type"}) == "QuotaExceeded")
        EXPECT_EQ(string_at(item, {"message"}), "no room in the quota for Pods of: g");
    room = 9;
    world.run_until(cluster_is("c", "ready"));
    EXPECT_EQ(condition_of(world, "c", "QuotaExceeded"), "absent");
  }
}

TEST(AutoscalerCase, AS_08_WorkersOfTheFirstAutoscalerAreWarnedOfOnceAGeneration) {
  World world;
  auto text = cluster_with("enableInTreeAutoscaling: true\n  autoscalerOptions: {version: v1}");
  text.replace(text.rfind("spec: {containers"), 17, "spec: {restartPolicy: Always, containers");
  const auto warnings = [&world] {
    return std::ranges::count_if(world.events("c"), [](const auto& event) {
      return event.find("RayCluster spec warning") != std::string::npos;
    });
  };
  world.apply(text).run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(warnings(), 1);
  for (const auto* nudge : {"1", "2", "3"})  // passes, and no other generation
    world.patch("RayCluster", "c", fmt::format("{{metadata: {{labels: {{n: \"{}\"}}}}}}", nudge))
        .settle();
  EXPECT_EQ(warnings(), 1);
  world.patch("RayCluster", "c", "{spec: {autoscalerOptions: {version: v2}}}").settle();
  EXPECT_EQ(warnings(), 1) << "of v2 it is refused, not warned of";
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

const char* const kTerminated =
    "it is forbidden: unable to create new content in namespace default because it is being "
    "terminated";

class Terminates final : public sim::Relay {
 public:
  Terminates(kube::Api& wire, bool& terminated) : Relay(wire), terminated_(terminated) {}
  Task<Result<kube::Response>> call(kube::Request request) override {
    if (terminated_ && request.verb == kube::Verb::Create)
      co_return failed({.code = ErrorCode::Forbidden, .message = kTerminated, .http_status = 403});
    co_return co_await inner().call(std::move(request));
  }

 private:
  bool& terminated_;
};

TEST(FaultToleranceCase, FT_01_ANamespaceThatGoesDoesNotWaitForRedis) {
  World world({.tamper = [](kube::Api& wire) {
    return std::make_unique<Refuses>(wire, kube::kJobs, kTerminated);
  }});
  world.apply(cluster_with(kRedis)).run_until(cluster_is("c", "ready")).settle();
  world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 10s).settle();
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("namespace \"store\" may need")));
}

std::string names_in(const Json& object, std::string_view list) {
  std::vector<std::string_view> names;
  for (const auto& item : array_at(object, {list})) names.push_back(string_at(item, {"name"}));
  return fmt::format("{}", fmt::join(names, " "));
}

// Nor are Events made there any more.
TEST(FaultToleranceCase, FT_01_TheLogNamesTheStorageNamespaceThen) {
  bool terminated = false;
  World world({.tamper = [&terminated](kube::Api& wire) {
    return std::make_unique<Terminates>(wire, terminated);
  }});
  world.apply(cluster_with(kRedis)).run_until(cluster_is("c", "ready")).settle();
  terminated = true;
  const KeptLog log(world.loop(), log::Level::Info);
  world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 10s);
  EXPECT_THAT(log.text(), HasSubstr(R"(namespace \"store\" may need)"));
}

TEST(FaultToleranceCase, FT_02_FT_12_TheCleanUpIsAdmittedLikeItsHeadAndNeedsNothingElseOfIt) {
  World world({.feature_gates = "RayClusterMinimalRedisCleanup=true", .start_operator = false});
  world.apply(cluster_with(kRedis)).patch("RayCluster", "c", R"(
spec: {headGroupSpec: {template: {spec: {
  nodeSelector: {gpu: "yes"}, tolerations: [{key: t}],
  initContainers: [{name: i, image: i, resources: {limits: {nvidia.com/gpu: 1}}}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: p}}, {name: ca, secret: {secretName: s}},
    {name: scratch, emptyDir: {}}, {name: conf, configMap: {name: m}},
    {name: all, projected: {sources: []}}, {name: pod, downwardAPI: {items: []}}],
  containers: [{name: ray-head, image: ray, volumeMounts: [{name: v, mountPath: /v},
      {name: ca, mountPath: /ca, readOnly: true}, {name: conf, mountPath: /c},
      {name: scratch, mountPath: /s}],
    resources: {limits: {cpu: "1", memory: 2Gi, nvidia.com/gpu: 1}}}]}}}})");
  world.start_operator().run_until(cluster_is("c", "ready")).settle();
  world.remove("RayCluster", "c").run_until(exists("Job", kCleanup));
  const auto& pod = *find(world.get("Job", kCleanup), {"spec", "template", "spec"});
  EXPECT_EQ(canonical_json(*find(ray_container(world.get("Job", kCleanup)), {"resources"})),
            R"({"limits":{"cpu":"1","memory":"2Gi"}})");
  for (const auto* gone : {"nodeSelector", "initContainers"})
    EXPECT_FALSE(find(pod, {gone})) << gone;
  // Redis may want a certificate.
  EXPECT_EQ(names_in(pod, "volumes"), "ca conf all pod");
  EXPECT_EQ(names_in(ray_container(world.get("Job", kCleanup)), "volumeMounts"), "ca conf");
  EXPECT_TRUE(find(pod, {"tolerations"}));
}

TEST(FaultToleranceCase, FT_04_OptionsTakenAwayDoNotHoldTheDeletionUp) {
  World world;
  world.apply(cluster_with(kRedis)).run_until(cluster_is("c", "ready")).settle();
  world.patch("RayCluster", "c", "{spec: {gcsFaultToleranceOptions: null}}").settle();
  world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 10s).settle();
  EXPECT_THAT(world.events("c"), Contains(AllOf(HasSubstr("ForceDeletedStuckCluster"),
                                                HasSubstr("namespace \"store\" may need"))));
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
  for (const auto* policy : {"Retain", "DeleteWithCluster"}) {
    SCOPED_TRACE(policy);
    World world({.feature_gates = "GCSFaultToleranceEmbeddedStorage=true"});
    world.apply(cluster_with("gcsFaultToleranceOptions: {redisAddress: \"r:6379\"}"))
        .run_until(cluster_is("c", "ready"))
        .settle();
    ASSERT_EQ(array_at(world.get("RayCluster", "c"), {"metadata", "finalizers"}).size(), 1u);
    world
        .patch("RayCluster", "c",
               fmt::format(R"({{spec: {{gcsFaultToleranceOptions: {{
          backend: rocksdb, redisAddress: null, storage: {{deletionPolicy: {}}}}}}}}})",
                           policy))
        .settle();
    EXPECT_TRUE(world.mirror().find("PersistentVolumeClaim", "c-gcs-pvc"));
    world
        .patch("RayCluster", "c", R"({spec: {gcsFaultToleranceOptions: {storage: {
          size: 5Gi, storageClassName: fast}}}})")
        .settle()
        .expect_rest();
    EXPECT_THAT(world.events("c"),
                Contains(HasSubstr("(requested size 5Gi != current 1Gi; storageClassName fast != "
                                   "current <default>)")));
    world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 10s).settle();
    EXPECT_EQ(world.mirror().find("PersistentVolumeClaim", "c-gcs-pvc") != nullptr,
              std::string_view(policy) == "Retain");
    EXPECT_FALSE(world.mirror().find("Job", kCleanup));
  }
}

// With a real Redis and Ray: tests/e2e/test_raycluster_real.py.
TEST(FaultToleranceCase, FT_11_ThePasswordReachesRayAsItIsAndNoTextHoldsIt) {
  World world;
  const KeptLog log(world.loop());
  world.apply(cluster_with(kRedis)).run_until(cluster_is("c", "ready")).settle();
  const Json head = world.get("Pod", world.head("c"));
  EXPECT_EQ(env_of(head, "REDIS_USERNAME"), "u");
  EXPECT_EQ(env_of(head, "REDIS_PASSWORD"), "p'a\"s$s`w");
  EXPECT_THAT(ray_start(head), HasSubstr("--redis-password=$REDIS_PASSWORD"));
  EXPECT_THAT(ray_start(head), HasSubstr("--redis-username=$REDIS_USERNAME"));
  world.remove("RayCluster", "c").run_until(exists("Job", kCleanup));
  const auto& job = world.get("Job", kCleanup);
  EXPECT_EQ(env_of(job, "REDIS_USERNAME"), "u");
  EXPECT_EQ(env_of(job, "REDIS_PASSWORD"), "p'a\"s$s`w");
  EXPECT_EQ(env_of(job, "RAY_REDIS_ADDRESS"), "rediss://r:6379");
  for (const auto* object : {&head, &job})
    for (const auto* text : {"command", "args"})
      EXPECT_THAT(dump_json(*find(ray_container(*object), {text})), Not(HasSubstr("p'a")));
  world.run_until(is_gone("RayCluster", "c")).settle();
  EXPECT_THAT(world.events("c"), Not(Contains(HasSubstr("p'a"))));
  EXPECT_THAT(log.text(), HasSubstr("RayCluster"));
  EXPECT_THAT(log.text(), Not(HasSubstr("p'a")));
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
    SCOPED_TRACE(gate);
    World world(
        {.feature_gates = gate ? "RayClusterReplaceSlices=true" : "", .start_operator = false});
    const auto before = with_slices(world, 3, 4).workers("c");
    // How many of the slices of four have gone before the first new one runs.
    std::optional<int> left;
    world.kubelet().on_running = [&](const Json& pod) {
      if (string_at(pod, {"metadata", "labels", "ray.io/node-type"}) == "worker" && !left)
        left = survivors(world, before);
    };
    world.patch("RayCluster", "c", group_of(3, "numOfHosts: 2")).settle();
    EXPECT_EQ(world.workers("c").size(), gate ? 6u : 12u);
    EXPECT_EQ(survivors(world, before), gate ? 0 : 12);
    EXPECT_EQ(left, gate ? std::optional(8) : std::nullopt);
    world.kubelet().on_running = {};
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

// What a TPU's Pods call themselves: an injector makes TPU_WORKER_ID of the host's index, and their
// names of each other's of the headless Service.
TEST(SliceCase, MH_08_IndicesOfSingleHostsStartAtZeroAgain) {
  World world;
  world.apply(kCluster).patch("RayCluster", "c", group_of(1));
  world.run_until(cluster_is("c", "ready")).settle();
  for (int round = 0; round < 3; ++round) {
    world.remove("Pod", world.workers("c").front()).settle();
    EXPECT_EQ(label_of(world, world.workers("c").front(), "ray.io/worker-group-replica-index"),
              "0");
  }
  EXPECT_EQ(label_of(world, world.workers("c").front(), "ray.io/replica-host-index"), "");
  EXPECT_FALSE(world.mirror().find("Service", "c-headless"));
  EXPECT_EQ(env_of(world.get("Pod", world.workers("c").front()), "TPU_WORKER_ID"), "(absent)");
}

TEST(SliceCase, MH_08_HostsOfASliceAreNumberedAndNamed) {
  World world({.start_operator = false});
  with_slices(world, 1, 2);
  for (int round = 0; round < 2; ++round) {
    std::set<std::string> hosts;
    for (const auto& name : world.workers("c"))
      hosts.insert(label_of(world, name, "ray.io/worker-group-replica-index") + "/" +
                   label_of(world, name, "ray.io/replica-host-index"));
    EXPECT_EQ(fmt::format("{}", fmt::join(hosts, " ")), "0/0 0/1");
    world.remove("Pod", world.workers("c").front()).settle();
  }
  EXPECT_TRUE(world.mirror().find("Service", "c-headless"));
}

}  // namespace
}  // namespace manta::integration
