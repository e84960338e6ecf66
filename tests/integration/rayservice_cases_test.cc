// What users of the reference ran into with RayServices. Each test has its case's id.
#include "ray/types.h"
#include "service_world.h"
#include "sim/relay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string service_with(std::string_view lines) {
  return std::string(kService) + std::string(lines);
}

Until two_clusters(const ServiceWorld& world) {
  return {"two clusters", [&world](const World&) { return world.clusters().size() == 2; }};
}
Until active_is_not(const ServiceWorld& world, std::string old) {
  return {"another cluster is active", [&world, old = std::move(old)](const World&) {
            return !world.active().empty() && world.active() != old;
          }};
}
Until pending_is_gone(const ServiceWorld& world) {
  return {"no pending cluster", [&world](const World&) { return world.pending().empty(); }};
}
int condition_generation(const ServiceWorld& world) {
  return static_cast<int>(int_at(world.service(), {"status", "observedGeneration"}));
}

TEST(RayServiceCase, RS_01_ASuspendedPendingClusterHoldsNothingUp) {
  ServiceWorld world;
  world.deploy(kService);
  const auto old = world.active();
  world.kubelet().hold({{"ray.io/node-type", "head"}});  // no head is ready before it is suspended
  world.set_image("two").run_until(two_clusters(world));
  const auto next = world.pending();
  world.patch("RayCluster", next, "{spec: {suspend: true}}").pass(1min);
  EXPECT_EQ(world.head(next), "");
  EXPECT_THAT(world.message("Ready"), HasSubstr(next + " is suspended"));
  EXPECT_THAT(world.condition("Ready"), HasSubstr("True")) << "the old cluster serves on";
  world.kubelet().release();
  world.patch("RayService", "s", "{spec: {rayClusterConfig: {suspend: false}}}")
      .run_until(upgraded("s"));
  EXPECT_EQ(world.active(), next);
  EXPECT_THAT(world.message("Ready"), Not(HasSubstr("suspended")));
  world.pass(70s).settle();
  EXPECT_THAT(world.clusters(), ElementsAre(next));
  EXPECT_NE(next, old);
}

// Makes RayClusters suspended, as the webhook of a queue does.
class MadeSuspended : public sim::Relay {
 public:
  MadeSuspended(kube::Api& api, const bool& on) : Relay(api), on_(on) {}

  Task<Result<kube::Response>> call(kube::Request request) override {
    if (on_ && request.verb == kube::Verb::Create && request.resource == ray::kRayClusters)
      ensure(request.body, {"spec"}).as_object()["suspend"] = true;
    co_return co_await inner().call(std::move(request));
  }

 private:
  const bool& on_;
};

TEST(RayServiceCase, RS_01_NorDoesOneThatIsMadeSuspended) {
  bool on = false;
  ServiceWorld world(
      {.tamper = [&on](kube::Api& wire) { return std::make_unique<MadeSuspended>(wire, on); }});
  world.deploy(kService);
  const auto old = world.active();
  on = true;
  world.set_image("two").run_until(two_clusters(world)).pass(1min);
  const auto next = world.pending();
  EXPECT_EQ(world.head(next), "");
  EXPECT_THAT(world.message("Ready"), HasSubstr(next + " is suspended"));
  EXPECT_THAT(world.condition("Ready"), HasSubstr("True")) << "the old cluster serves on";
  // The active cluster is not held up by the other.
  world.set_config("applications: [{name: a, import_path: m:app, route_prefix: /two}]").pass(1min);
  world.patch("RayService", "s", "{spec: {rayClusterConfig: {suspend: false}}}")
      .run_until(upgraded("s"));
  EXPECT_EQ(world.active(), next);
  world.pass(70s).settle();
  EXPECT_THAT(world.clusters(), ElementsAre(next));
  EXPECT_NE(next, old);
}

TEST(RayServiceCase, RS_01_AnApplicationThatCannotDeploySaysWhy) {
  ServiceWorld world;
  world.serve().says["a"] = "DEPLOY_FAILED";
  world.serve().explains["a"] = "Traceback (most recent call last):\n  x\nImportError: no m\n";
  world.apply(kService).pass(2min);
  EXPECT_THAT(world.condition("Ready"), HasSubstr("False"));
  EXPECT_THAT(world.message("Ready"), HasSubstr("DEPLOY_FAILED: ImportError: no m"));
  const auto told = [&] {
    return std::ranges::count_if(world.events("s"), [](const std::string& event) {
      return event.find("ImportError: no m") != std::string::npos;
    });
  };
  EXPECT_EQ(told(), 1);
  world.crash().pass(1min);
  EXPECT_EQ(told(), 1) << "once, whoever is started";
  world.serve().says.clear();
  world.run_until(service_serves("s")).settle();
  EXPECT_THAT(world.message("Ready"), Not(HasSubstr("ImportError")));
}

TEST(RayServiceCase, RS_03_TrafficWaitsForEveryConfiguredApplication) {
  ServiceWorld world;
  world.serve().says["b"] = "";
  world
      .apply(R"(
apiVersion: ray.io/v1
kind: RayService
metadata: {name: s}
spec:
  serveConfigV2: |
    applications:
    - {name: a, import_path: 'm:a', route_prefix: /a}
    - {name: b, import_path: 'm:b', route_prefix: /b}
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: ray-head, image: ray, resources: {limits: {cpu: "1", memory: 2Gi}}}]}}
)")
      .pass(2min);
  EXPECT_EQ(world.active(), "") << "application b is not even listed";
  EXPECT_EQ(world.mirror().find("Service", "s-serve-svc"), nullptr);
  world.serve().says.clear();
  world.run_until(service_serves("s")).settle();
}

TEST(RayServiceCase, RS_04_ANamedHeadServiceIsRefused) {
  ServiceWorld world;
  world.apply(kService).stop_operator();
  world.patch(
      "RayService", "s",
      "{spec: {rayClusterConfig: {headGroupSpec: {headService: {metadata: {name: mine}}}}}}");
  world.start_operator().run_until(has_condition("s", "Ready", "False ValidationFailed"));
  EXPECT_THAT(world.message("Ready"), HasSubstr("headService.metadata.name should not be set"));
  world.settle();
}

TEST(RayServiceCase, RS_05_AnAddressIsKeptThoughTheNewServiceWouldHaveNone) {
  ServiceWorld world;
  std::string yaml = kService;
  yaml.replace(yaml.find("    headGroupSpec:\n"), 19,
               "    headGroupSpec:\n      serviceType: NodePort\n");
  world.deploy(yaml);
  const auto address =
      std::string(string_at(world.get("Service", "s-head-svc"), {"spec", "clusterIP"}));
  ASSERT_FALSE(address.empty());
  ASSERT_NE(address, "None");
  const auto old = world.active();
  world.patch("RayService", "s", "{spec: {rayClusterConfig: {headGroupSpec: {serviceType: null}}}}")
      .run_until(active_is_not(world, old));
  EXPECT_EQ(string_at(world.get("Service", world.active() + "-head-svc"), {"spec", "clusterIP"}),
            "None");
  const auto& turned = world.get("Service", "s-head-svc");
  EXPECT_EQ(world.behind("s-head-svc"), world.active());
  EXPECT_EQ(string_at(turned, {"spec", "clusterIP"}), address);
  EXPECT_EQ(string_at(turned, {"spec", "type"}), "ClusterIP");
  world.settle();
}

// What the user took out of his template goes with the next cluster.
TEST(RayServiceCase, RS_05_OfTheOldServiceOnlyTheAddressStays) {
  ServiceWorld world;
  world.deploy(service_with(
      "  serveService: {spec: {type: NodePort, sessionAffinity: ClientIP, ports: [{name: serve, "
      "port: 80, targetPort: 8000}]}}\n"));
  const auto address =
      std::string(string_at(world.get("Service", "s-serve-svc"), {"spec", "clusterIP"}));
  const auto old = world.active();
  world.patch("RayService", "s", "{spec: {serveService: null}}").pass(1min);
  EXPECT_EQ(string_at(world.get("Service", "s-serve-svc"), {"spec", "type"}), "NodePort")
      << "not before another cluster serves";
  world.set_image("two").run_until(active_is_not(world, old)).settle();
  const auto& service = world.get("Service", "s-serve-svc");
  EXPECT_EQ(string_at(service, {"spec", "clusterIP"}), address);
  EXPECT_EQ(string_at(service, {"spec", "type"}), "ClusterIP");
  EXPECT_EQ(string_at(service, {"spec", "sessionAffinity"}), "None");
  EXPECT_EQ(int_at(array_at(service, {"spec", "ports"}).at(0), {"port"}), 8000);
}

TEST(RayServiceCase, RS_07_AnotherOperatorVersionScalesNothing) {
  ServiceWorld world;
  world.deploy(R"(
apiVersion: ray.io/v1
kind: RayService
metadata: {name: s}
spec:
  serveConfigV2: "applications: [{name: a, import_path: 'm:a', route_prefix: /}]"
  rayClusterConfig:
    rayVersion: "2.54.0"
    enableInTreeAutoscaling: true
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: ray-head, image: ray, resources: {limits: {cpu: "1", memory: 2Gi}}}]}}
    workerGroupSpecs:
    - {groupName: g, replicas: 1, minReplicas: 0, maxReplicas: 10, rayStartParams: {},
       template: {spec: {containers: [{name: w, image: ray}]}}}
)");
  const auto cluster = world.active();
  world.patch("RayCluster", cluster, R"({spec: {workerGroupSpecs: [
    {groupName: g, replicas: 7, minReplicas: 0, maxReplicas: 10, rayStartParams: {},
     template: {spec: {containers: [{name: w, image: ray}]}}}]}})");
  world.run_until(has_workers(cluster, 7)).stop_operator();
  world.patch("RayCluster", cluster, "{metadata: {annotations: {ray.io/kuberay-version: v1.7.0}}}");
  const auto pods = world.mirror().created("Pod");
  world.start_operator().pass(1min).settle();
  EXPECT_NE(string_at(world.get("RayCluster", cluster),
                      {"metadata", "annotations", "ray.io/kuberay-version"}),
            "v1.7.0");
  EXPECT_EQ(world.workers(cluster).size(), 7u);
  EXPECT_EQ(world.mirror().created("Pod"), pods);
}

TEST(RayServiceCase, RS_09_CrashesDoNotProlongTheDelay) {
  ServiceWorld world;
  world.deploy(kService);
  const auto old = world.active();
  world.set_image("two").run_until(active_is_not(world, old));
  for (int i = 0; i < 3; ++i) world.pass(16s).crash();
  world.pass(9s);  // 57 s
  EXPECT_THAT(world.clusters(), Contains(old));
  world.pass(6s);
  EXPECT_THAT(world.clusters(), Not(Contains(old)));
  world.settle();
}

TEST(RayServiceCase, RS_10_AClusterThatNeverServedGoesAtOnceWithTheGate) {
  ServiceWorld world({.feature_gates = "RayServiceDropUnserved=true"});
  world.deploy(kService);
  world.serve().says["a"] = "DEPLOYING";
  world.set_image("two").run_until(two_clusters(world)).pass(10s);
  const auto second = world.pending();
  std::size_t most = 0;
  world.mirror().listen([&](const Change&) { most = std::max(most, world.clusters().size()); });
  world.set_image("three").pass(5s);
  EXPECT_THAT(world.clusters(), Not(Contains(second)));
  EXPECT_EQ(most, 2u);
  world.serve().says.clear();
  world.run_until(upgraded("s")).settle();
}

TEST(RayServiceCase, RS_12_ARollbackEndsWhileThePendingHeadCrashes) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  const auto old = world.active();
  world.begin_upgrade("two");
  const auto next = world.pending();
  world.kubelet().hold({{"ray.io/cluster", next}});
  world.kubelet().fail(world.head(next));
  world.set_image("one").run_until(pending_is_gone(world));
  EXPECT_EQ(world.active(), old);
  world.settle();
  EXPECT_THAT(world.weights(), ElementsAre(std::pair(old, 100)));
  EXPECT_EQ(world.capacity("active"), 100);
}

TEST(RayServiceCase, RS_12_TheActiveClusterIsDeletedDuringARollback) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  const auto old = world.active();
  world.begin_upgrade("two");
  world.set_gateway(false).set_image("one").run_until(
      has_condition("s", "RollbackInProgress", "True DesiredClusterSpecChanged"));
  world.remove("RayCluster", old).run_until(active_is_not(world, old));
  EXPECT_THAT(world.events("s"), Contains(HasSubstr("RollbackImpossible")));
  world.set_gateway(true).run_until(pending_is_gone(world)).settle();
  EXPECT_EQ(world.condition("RollbackInProgress"), "");
  EXPECT_EQ(world.capacity("active"), 100);
}

TEST(RayServiceCase, RS_12_AThirdSpecInTheMiddleIsReachedInTheEnd) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  const auto old = world.active();
  world.begin_upgrade("two");
  world.set_image("three").run_until(active_is_not(world, old)).run_until(upgraded("s"));
  world.pass(70s).settle();
  EXPECT_THAT(dump_json(world.get("RayCluster", world.active())), HasSubstr("\"three\""));
  EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
}

TEST(RayServiceCase, RS_14_WithoutAProgrammedGatewayTrafficStaysAndTheConditionSaysWhy) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  const auto old = world.active();
  std::vector<std::int64_t> sums;
  world.mirror().listen([&](const Change& change) {
    if (string_at(change.newest(), {"kind"}) != "HTTPRoute") return;
    std::int64_t sum = 0;
    for (const auto& backend :
         array_at(array_at(change.newest(), {"spec", "rules"}).at(0), {"backendRefs"}))
      sum += int_at(backend, {"weight"});
    sums.push_back(sum);
  });
  world.set_gateway(false).set_image("two").run_until(two_clusters(world)).pass(5min);
  EXPECT_EQ(world.weights().at(old), 100);
  EXPECT_EQ(world.active(), old);
  EXPECT_THAT(world.message("UpgradeInProgress"),
              HasSubstr("Gateway default/s-gateway is not Programmed"));
  world.set_gateway(true).run_until(upgraded("s")).settle();
  EXPECT_NE(world.active(), old);
  EXPECT_GE(sums.size(), 3u);
  EXPECT_THAT(sums, Each(100));
}

TEST(RayServiceCase, RS_15_TheTimeoutCountsFromTheResumption) {
  ServiceWorld world;
  auto yaml = service_with("");
  yaml.replace(yaml.find("{name: s}"), 9,
               "{name: s, annotations: {ray.io/initializing-timeout: 60s}}");
  world.kubelet().hold({{"ray.io/node-type", "head"}});
  world.apply(yaml).pass(20s).patch("RayService", "s", "{spec: {suspend: true}}");
  world.run_until(has_condition("s", "Suspended", "True SuspendComplete")).pass(10min);
  world.patch("RayService", "s", "{spec: {suspend: false}}").pass(50s);
  EXPECT_EQ(world.condition("Ready"), "False Initializing");
  world.pass(15s);
  EXPECT_EQ(world.condition("Ready"), "False InitializingTimeout");
  EXPECT_EQ(world.pending(), "");
  world.pass(2min).settle();
  EXPECT_THAT(world.clusters(), ElementsAre());
}

// A service whose head never started.
void time_out(ServiceWorld& world) {
  auto yaml = service_with("");
  yaml.replace(yaml.find("{name: s}"), 9,
               "{name: s, annotations: {ray.io/initializing-timeout: 60s}}");
  world.kubelet().hold({{"ray.io/node-type", "head"}});
  world.apply(yaml).run_until(has_condition("s", "Ready", "False InitializingTimeout"));
}

TEST(RayServiceCase, RS_17_ATimedOutServiceStaysSo) {
  ServiceWorld world;
  time_out(world);
  world.kubelet().release();
  world.set_image("mended").pass(5min).settle();
  EXPECT_EQ(world.condition("Ready"), "False InitializingTimeout");
}

TEST(RayServiceCase, RS_17_AnInvalidEditRevivesNothing) {
  ServiceWorld world;
  time_out(world);
  world.patch("RayService", "s", "{spec: {upgradeStrategy: {type: Sometimes}}}").pass(1min);
  EXPECT_EQ(world.condition("Ready"), "False InitializingTimeout");
  world.patch("RayService", "s", "{spec: {upgradeStrategy: null}}").pass(1min);
  EXPECT_EQ(world.condition("Ready"), "False InitializingTimeout");
}

TEST(RayServiceCase, RS_17_WithTheGateAMendedSpecRevives) {
  ServiceWorld world({.feature_gates = "RayServiceRevive=true"});
  time_out(world);
  world.pass(2min);
  EXPECT_EQ(world.condition("Ready"), "False InitializingTimeout") << "by itself it stays so";
  world.kubelet().release();
  world.set_image("mended").run_until(service_serves("s")).settle();
}

TEST(RayServiceCase, RS_18_TheHeadJoinsTheServiceOnlyWhenItsProxyAnswers) {
  ServiceWorld world;
  world.serve().proxies_healthy = false;
  world.apply(kService).run_until(
      {"active", [&](const World&) { return !world.active().empty(); }});
  const auto head = world.head(world.active());
  EXPECT_EQ(label_of(world.get("Pod", head), "ray.io/serve"), "false");
  world.pass(30s);
  EXPECT_EQ(label_of(world.get("Pod", head), "ray.io/serve"), "false");
  world.serve().proxies_healthy = true;
  world.pass(5s);
  EXPECT_EQ(label_of(world.get("Pod", head), "ray.io/serve"), "true");
  world.patch("RayService", "s", "{spec: {excludeHeadPodFromServeSvc: true}}").pass(5s);
  EXPECT_EQ(label_of(world.get("Pod", head), "ray.io/serve"), "false");
  world.settle();
}

TEST(RayServiceCase, RS_18_AnExcludedHeadIsNeverInTheService) {
  ServiceWorld world;
  bool ever = false;
  world.mirror().listen([&](const Change& change) {
    const auto& object = change.newest();
    if (string_at(object, {"kind"}) == "Pod" && label_of(object, "ray.io/node-type") == "head")
      ever |= label_of(object, "ray.io/serve") != "false";
  });
  world.deploy(service_with("  excludeHeadPodFromServeSvc: true\n"));
  const auto old = world.active();
  world.set_image("two").run_until(active_is_not(world, old)).settle();
  EXPECT_FALSE(ever);
}

TEST(RayServiceCase, RS_19_AHeadThatRestartsWithFaultToleranceNeedsNothing) {
  ServiceWorld world;
  world.serve().fault_tolerant = true;
  world.deploy(kService);
  const auto cluster = world.active();
  std::int64_t fewest = 100;
  world.mirror().listen([&](const Change&) {
    if (const auto* found = world.mirror().find("RayService", "s"))
      fewest = std::min(fewest, int_at(*found, {"status", "numServeEndpoints"}));
  });
  world.kubelet().fail(world.head(cluster));
  world.run_until({"a new head", [&](const World& w) { return !w.head(cluster).empty(); }});
  world.pass(2min).settle();
  EXPECT_EQ(fewest, 1) << "the worker's endpoint stays";
  EXPECT_EQ(int_at(world.service(), {"status", "numServeEndpoints"}), 2);
  EXPECT_EQ(world.active(), cluster);
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  EXPECT_EQ(world.serve().sent().size(), 1u);
  EXPECT_EQ(world.condition("Ready"), "True NonZeroServeEndpoints");
}

class UnusableConfig : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(UnusableConfig, RS_21_IsToldAndRunningApplicationsStay) {
  ServiceWorld world;
  world.deploy(kService);
  world.set_config(GetParam().first).pass(1min);
  EXPECT_THAT(world.message("Ready"), HasSubstr(GetParam().second));
  EXPECT_EQ(world.serve().sent().size(), 1u);
  EXPECT_THAT(world.events("s"), Contains(HasSubstr("FailedToUpdateServeApplications")));
  EXPECT_EQ(string_at(world.service(),
                      {"status", "activeServiceStatus", "applicationStatuses", "a", "status"}),
            "RUNNING");
  world.set_config("applications: [{name: a, import_path: 'm:mended', route_prefix: /}]").pass(30s);
  EXPECT_EQ(world.serve().sent().size(), 2u);
  EXPECT_THAT(world.message("Ready"), Not(HasSubstr("Waiting")));
  world.settle();
}
INSTANTIATE_TEST_SUITE_P(, UnusableConfig,
                         testing::Values(std::pair("applications:\n- name: a\n  {b", "line 3"),
                                         std::pair("- a\n- b\n", "line 1"), std::pair("", "blank"),
                                         std::pair("# nothing\n", "blank")));

TEST(RayServiceCase, RS_23_WithStrategyNoneAnImageChangesNothing) {
  ServiceWorld world({.feature_gates = "RayServiceTellDrift=true"});
  world.deploy(service_with("  upgradeStrategy: {type: None}\n"));
  const auto pods = world.mirror().created("Pod");
  world.set_image("two").pass(5min).settle();
  EXPECT_EQ(world.mirror().created("Pod"), pods);
  EXPECT_THAT(world.message("UpgradeInProgress"),
              HasSubstr("upgradeStrategy leaves that as it is"));
}

// What cannot be shown here, that no request fails, is in tests/e2e/test_rayservice.py.
TEST(RayServiceCase, RS_24_WithTheGateAWorkerThatIsDeletedLeavesInOrder) {
  for (const bool gate : {false, true}) {
    ServiceWorld world({.feature_gates = gate ? "RayServiceDrainWorkers=true" : ""});
    world.deploy(kService);
    const auto hook = [&](const std::string& pod) {
      const auto& container = array_at(world.get("Pod", pod), {"spec", "containers"}).at(0);
      return dump_json(object_at(container, {"lifecycle", "preStop"}));
    };
    const auto worker = world.workers(world.active()).at(0);
    if (gate)
      EXPECT_THAT(hook(worker), HasSubstr("ray drain-node"));
    else
      EXPECT_EQ(hook(worker), "{}");
    EXPECT_EQ(hook(world.head(world.active())), "{}") << "a head has nowhere to go";
    world.settle();
  }
}

TEST(RayServiceCase, RS_25_WithTheGateTheOldClusterGoesWhenItHasAnsweredEverything) {
  ServiceWorld world({.feature_gates = "RayServiceDeleteIdle=true"});
  world.serve().ongoing = 3;
  world.deploy(kService);
  const auto old = world.active();
  world.set_image("two").run_until(active_is_not(world, old));
  EXPECT_EQ(world.behind("s-serve-svc"), world.active()) << "first nobody is sent there any more";
  world.pass(35s);
  EXPECT_THAT(world.clusters(), Contains(old)) << "requests are in flight";
  world.serve().ongoing = 0;
  world.pass(7s);
  EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
  world.settle();
}

// Whether the answer is of the time before the metrics can be trusted or after it.
TEST(RayServiceCase, RS_25_WhatIsIdleFromTheBeginningGoesAsSoon) {
  for (const auto answered_after : {0s, 11s}) {
    ServiceWorld world({.feature_gates = "RayServiceDeleteIdle=true"});
    world.serve().ongoing = answered_after > 0s ? 1 : 0;
    world.deploy(kService);
    const auto old = world.active();
    world.set_image("two").run_until(active_is_not(world, old)).pass(answered_after);
    world.serve().ongoing = 0;
    world.pass(17s - answered_after);
    EXPECT_THAT(world.clusters(), Contains(old)) << "the last requests may not be counted yet";
    world.pass(15s);
    EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
    world.settle();
  }
}

TEST(RayServiceCase, RS_25_TheDelayHoldsWhateverIsInFlight) {
  for (const auto ongoing : {std::optional(3), std::optional<int>()}) {
    ServiceWorld world({.feature_gates = "RayServiceDeleteIdle=true"});
    world.serve().ongoing = ongoing;
    world.deploy(kService);
    const auto old = world.active();
    world.set_image("two").run_until(active_is_not(world, old)).pass(57s);
    EXPECT_THAT(world.clusters(), Contains(old));
    world.pass(6s);
    EXPECT_THAT(world.clusters(), Not(Contains(old)));
    world.settle();
  }
}

TEST(RayServiceCase, RS_27_WithTheGateTheHeadServiceInheritsWhatUsersGave) {
  auto yaml = service_with("");
  yaml.replace(yaml.find("    rayVersion:"), 15,
               "    headServiceAnnotations: {example.com/dns: head}\n    rayVersion:");
  yaml.replace(yaml.find("    headGroupSpec:\n"), 19,
               "    headGroupSpec:\n      headService: {metadata: {labels: {tier: edge}}}\n");
  for (const bool gate : {false, true}) {
    ServiceWorld world({.feature_gates = gate ? "RayServiceInheritServiceMeta=true" : ""});
    world.deploy(yaml);
    const auto& service = world.get("Service", "s-head-svc");
    EXPECT_EQ(label_of(service, "tier"), gate ? "edge" : "");
    EXPECT_EQ(string_at(service, {"metadata", "annotations", "example.com/dns"}),
              gate ? "head" : "");
    world.patch("Service", "s-head-svc",
                "{metadata: {labels: {mine: \"1\"}, annotations: {example.com/mine: \"1\"}}}");
    const auto old = world.active();
    world
        .patch("RayService", "s", R"({spec: {rayClusterConfig: {rayVersion: "2.99.0",
            headServiceAnnotations: {example.com/dns: other}}}})")
        .run_until(active_is_not(world, old))
        .settle();
    EXPECT_EQ(string_at(world.get("Service", "s-head-svc"),
                        {"metadata", "annotations", "example.com/dns"}),
              gate ? "other" : "")
        << "the next cluster's";
    EXPECT_EQ(label_of(world.get("Service", "s-head-svc"), "mine"), "1");
    EXPECT_EQ(string_at(world.get("Service", "s-head-svc"),
                        {"metadata", "annotations", "example.com/mine"}),
              "1");
  }
}

TEST(RayServiceCase, RS_28_LostApplicationsAreSentOnceMore) {
  ServiceWorld world;
  world.deploy(kService);
  const auto head = world.get("Pod", world.head(world.active()));
  world.serve().forget(uid_of(head));
  world.serve().says["a"] = "";  // and it lists nothing whatever it is sent
  world.pass(50s);
  EXPECT_EQ(world.serve().sent().size(), 2u);
  world.pass(10min);
  const auto sent = world.serve().sent().size();
  EXPECT_LE(sent, 12u) << "once a minute, as it may have been lost again";
  world.serve().says.clear();
  world.pass(1min).settle();
  EXPECT_EQ(world.serve().sent().size(), sent);
  EXPECT_EQ(string_at(world.service(),
                      {"status", "activeServiceStatus", "applicationStatuses", "a", "status"}),
            "RUNNING");
}

TEST(RayServiceCase, SEEN_27_ARollbackBeforeAnythingRanEnds) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  const auto old = world.active();
  world.serve().says["a"] = "DEPLOYING";
  world.pass(10s);
  world.set_image("two").run_until(two_clusters(world)).pass(30s);
  const auto second = world.pending();
  const auto sent = world.serve().sent_to(old + "-head-svc");
  world.set_image("three").run_until({"the third has its turn", [&](const World&) {
                                        return !world.pending().empty() &&
                                               world.pending() != second;
                                      }});
  EXPECT_EQ(world.active(), old);
  world.pass(1min);
  EXPECT_LE(world.serve().sent_to(old + "-head-svc"), sent + 1);
  world.serve().says.clear();
  world.run_until(active_is_not(world, old)).settle();
}

TEST(RayServiceCase, SEEN_28_DuplicateWorkerGroupsAreRefused) {
  ServiceWorld world;
  world
      .apply(R"(
apiVersion: ray.io/v1
kind: RayService
metadata: {name: s}
spec:
  serveConfigV2: "applications: [{name: a, import_path: 'm:a'}]"
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: ray-head, image: ray}]}}
    workerGroupSpecs:
    - {groupName: g, replicas: 1, rayStartParams: {}, template: {spec: {containers: [{name: w, image: ray}]}}}
    - {groupName: g, replicas: 2, rayStartParams: {}, template: {spec: {containers: [{name: w, image: ray}]}}}
)")
      .run_until(has_condition("s", "Ready", "False ValidationFailed"));
  EXPECT_THAT(world.message("Ready"), HasSubstr("workerGroupSpecs[1].groupName g"));
  world.settle();
  EXPECT_EQ(world.mirror().created("RayCluster"), 0);
}

TEST(RayServiceCase, SEEN_29_MendingTheFirstSpecStartsAsIfNew) {
  ServiceWorld world;
  world.apply(service_with("  upgradeStrategy: {type: Sometimes}\n"))
      .run_until(has_condition("s", "Ready", "False ValidationFailed"));
  world.patch("RayService", "s", "{spec: {upgradeStrategy: null}}").pass(1s);
  EXPECT_EQ(world.condition("UpgradeInProgress"), "False Initializing");
  EXPECT_EQ(world.condition("Ready"), "False Initializing");
  world.run_until(service_serves("s")).settle();
}

// An invalid edit, and the same taken back.
void break_and_mend(ServiceWorld& world) {
  world.patch("RayService", "s", "{spec: {upgradeStrategy: {type: Sometimes}}}")
      .run_until(has_condition("s", "Ready", "False ValidationFailed"));
  world.patch("RayService", "s", "{spec: {upgradeStrategy: null}}").pass(1s);
}

TEST(RayServiceCase, SEEN_29_SoDoesMendingOneThatNeverServed) {
  ServiceWorld world;
  world.kubelet().hold({{"ray.io/node-type", "head"}});
  world.apply(kService).run_until(has_condition("s", "Ready", "False Initializing"));
  break_and_mend(world);
  EXPECT_EQ(world.condition("Ready"), "False Initializing");
}

TEST(RayServiceCase, SEEN_29_SoDoesMendingOneThatIsSuspended) {
  ServiceWorld world;
  world.deploy(kService).patch("RayService", "s", "{spec: {suspend: true}}");
  world.run_until(has_condition("s", "Suspended", "True SuspendComplete"));
  break_and_mend(world);
  EXPECT_EQ(world.condition("Ready"), "False SuspendComplete");
}

TEST(RayServiceCase, SEEN_30_WhatTheChildWouldRefuseIsRefusedHere) {
  ServiceWorld world;
  world.apply(kService).stop_operator();
  world.patch("RayService", "s", "{spec: {rayClusterConfig: {upgradeStrategy: {type: Recreate}}}}");
  world.start_operator().run_until(has_condition("s", "Ready", "False ValidationFailed"));
  EXPECT_THAT(world.message("Ready"), HasSubstr("spec.rayClusterConfig.upgradeStrategy.type"));
  world.patch("RayService", "s",
              "{spec: {rayClusterConfig: {upgradeStrategy: null, suspend: true}}}");
  world.pass(1s);
  EXPECT_THAT(world.message("Ready"), HasSubstr("spec.rayClusterConfig.suspend"));
  world.settle();
}

TEST(RayServiceCase, SEEN_31_TheActiveClusterIsLostInMidUpgrade) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  const auto old = world.active();
  world.begin_upgrade("two");
  const auto next = world.pending();
  world.remove("RayCluster", old).run_until(active_is_not(world, old));
  EXPECT_EQ(world.active(), next);
  world.settle();
  EXPECT_EQ(world.capacity("active"), 100);
  EXPECT_THAT(world.weights(), ElementsAre(std::pair(next, 100)));
}

TEST(RayServiceCase, SEEN_32_TheConditionTellsThatTheLastValidSpecServes) {
  ServiceWorld world;
  world.deploy(kService);
  world.patch("RayService", "s", "{spec: {upgradeStrategy: {type: Sometimes}}}")
      .run_until(has_condition("s", "Ready", "False ValidationFailed"));
  EXPECT_EQ(string_at(world.service(), {"status", "serviceStatus"}), "Running");
  EXPECT_THAT(world.message("Ready"), HasSubstr("last valid spec still serves"));
  world.settle();
  EXPECT_FALSE(world.clusters().empty());
}

TEST(RayServiceCase, SEEN_33_WithTheGateTheStatusOfThePendingClusterIsFresh) {
  ServiceWorld world({.feature_gates = "RayServiceFreshStatus=true"});
  world.deploy(kService);
  world.serve().says["a"] = "DEPLOYING";
  world.set_image("two").run_until(two_clusters(world)).pass(30s);
  EXPECT_EQ(
      string_at(world.service(), {"status", "pendingServiceStatus", "rayClusterStatus", "state"}),
      "ready");
  EXPECT_EQ(condition_generation(world), int_at(world.service(), {"metadata", "generation"}));
  world.settle();
}

TEST(RayServiceCase, SEEN_34_ABlankConfigDeletesNoApplication) {
  ServiceWorld world;
  world.deploy(kService);
  world.set_config("  \n").pass(2min);
  EXPECT_EQ(world.serve().sent().size(), 1u);
  EXPECT_THAT(world.message("Ready"), HasSubstr("blank"));
  world.settle();
}

}  // namespace
}  // namespace manta::integration
