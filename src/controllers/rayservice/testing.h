// One RayService and its world, told in its own terms, for the tests beside this controller's
// sources.
#pragma once

#include "controllers/rayservice/draft.h"
#include "controllers/rayservice/plan.h"
#include "ray/builders/children.h"
#include "ray/labels.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::controllers::rayservice::testing {

inline constexpr Time kNow{std::chrono::seconds{1'800'000'000}};

inline ray::RayService service() {
  ray::RayService out;
  out.meta = {.key = {"ns", "s"},
              .uid = "s-uid",
              .resource_version = 5,
              .generation = 1,
              .finalizers = {std::string(ray::kFinalizerRayService)}};
  out.spec.serveConfigV2 = "applications: [{name: a}]";
  out.spec.rayClusterConfig.headGroupSpec.template_ = *parse_json(
      R"({"spec":{"containers":[{"name":"ray","image":"i","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}})");
  return out;
}

/// An answer of Ray Serve on which application a runs, as this process sent it.
inline constexpr const char* kRunning =
    R"({"applications":{"a":{"status":"RUNNING"}},"submitted":{"config":{"applications":[{"name":"a"}]},"head":"head-uid/0","listed":true}})";

struct Table : ::testing::Test {
  ray::RayService rs = service();
  RayServiceSeen seen = {};
  Settings settings = {};
  kube::Facts facts = {};
  kube::Failures failures = {};
  kube::PlanContext context{.now = kNow, .facts = facts, .failures = failures};

  /// Made of the spec as it is now.
  std::shared_ptr<ray::RayCluster> cluster(std::string name, bool head_ready) {
    auto made =
        ray::parse_ray_cluster(ray::build_cluster_for_service(rs, name, false, settings.build));
    made->meta.uid = name + "-uid";
    made->status.conditions = {{.type = "HeadPodReady", .status = head_ready ? "True" : "False"}};
    return std::make_shared<ray::RayCluster>(std::move(*made));
  }
  ClusterSeen with_head(std::shared_ptr<ray::RayCluster> made) {
    kube::PodView head{.phase = kube::PodPhase::Running, .podIP = "10.0.0.1"};
    head.meta.key = {"ns", made->meta.key.name + "-head"};
    head.meta.uid = "head-uid";
    head.meta.labels = {{std::string(ray::kLabelServe), "true"}};
    kube::ServiceView dashboard{.ports = {{.name = "dashboard", .port = 8265}}};
    dashboard.meta.key = {"ns", made->meta.key.name + "-head-svc"};
    seen.clusters.push_back(made);
    return {.cluster = made,
            .heads = {std::make_shared<kube::PodView>(head)},
            .head_service = std::make_shared<kube::ServiceView>(dashboard)};
  }
  void answer(const std::string& name, std::string_view json) {
    facts["serve:" + name] = {.answer = *parse_json(json), .at = kNow};
    facts["health:" + name] = {.answer = JsonObject{{"healthy", true}}, .at = kNow};
  }
  kube::Plan make() {
    seen.service = std::make_shared<ray::RayService>(rs);
    return plan(seen, settings, context);
  }
  /// What one part of the planner fills in.
  Draft draft() {
    seen.service = std::make_shared<ray::RayService>(rs);
    return {.seen = seen,
            .settings = settings,
            .context = context,
            .incremental = is_incremental(rs.spec, settings),
            .status = rs.status};
  }
};

/// A RayService on s-new, with an old cluster that nobody names, and what stands around an upgrade
/// in steps.
struct StepsTable : Table {
  bool owned = true;
  StepsTable() {
    settings.incremental_upgrade = true;
    rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{.type = "NewCluster"};
    rs.spec.rayClusterDeletionDelaySeconds = 0;
    rs.spec.rayClusterConfig.enableInTreeAutoscaling = true;
    rs.status.activeServiceStatus.rayClusterName = "s-new";
    rs.status.conditions = {{.type = "UpgradeInProgress",
                             .status = "False",
                             .lastTransitionTime = kNow - std::chrono::seconds{100},
                             .reason = "NoPendingCluster"}};
    seen.active = with_head(cluster("s-new", true));
    seen.clusters.push_back(cluster("s-old", true));
    seen.head_service = service_of("s-head-svc", "s-new");
    answer("s-new", kRunning);
  }
  void in_steps() {
    rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{
        .type = std::string(kIncremental),
        .clusterUpgradeOptions = ray::ClusterUpgradeOptions{.maxSurgePercent = 50,
                                                            .stepSizePercent = 25,
                                                            .intervalSeconds = 1,
                                                            .gatewayClassName = "edge"}};
    seen.active.serve_service = service_of("s-new-serve-svc", "s-new");
  }
  void owned_by_s(kube::ObjectMeta& meta) const {
    if (owned) meta.owners = {{"ray.io/v1", "RayService", "s", "s-uid", true, true}};
  }
  std::shared_ptr<kube::ServiceView> service_of(std::string name, std::string selects,
                                                Time made = {}) {
    kube::ServiceView view{.type = "ClusterIP",
                           .selector = {{std::string(ray::kLabelCluster), std::move(selects)}},
                           .ports = {{.name = "serve", .port = 8080}}};
    view.meta.key = {"ns", std::move(name)};
    view.meta.created = made;
    owned_by_s(view.meta);
    return std::make_shared<kube::ServiceView>(view);
  }
  /// One route, to these Services with these weights.
  void route_to(std::initializer_list<std::pair<const char*, int>> services) {
    JsonArray backends;
    for (const auto& [name, weight] : services)
      backends.push_back({{"name", name}, {"namespace", "ns"}, {"port", 8000}, {"weight", weight}});
    kube::SpecView view{
        .spec = {{"parentRefs", JsonArray{{{"name", "s-gateway"}, {"namespace", "ns"}}}},
                 {"rules", JsonArray{{{"backendRefs", std::move(backends)}}}}}};
    view.meta.key = {"ns", "s-httproute"};
    view.meta.uid = "route-uid";
    owned_by_s(view.meta);
    seen.route = std::make_shared<kube::SpecView>(view);
  }
  void route_to(const char* service) { route_to({{service, 100}}); }
  void endpoints_of(std::string service) {
    kube::EndpointSliceView slice{.ready_targets = {"pod"}};
    slice.meta.labels = {{std::string(kube::kLabelServiceName), std::move(service)}};
    seen.slices.push_back(std::make_shared<kube::EndpointSliceView>(slice));
  }
};

inline std::vector<kube::Write> writes(const kube::Plan& plan) {
  std::vector<kube::Write> out;
  for (const auto& stage : plan.stages) out.insert(out.end(), stage.begin(), stage.end());
  return out;
}

/// "Service s-head-svc" of an object, "update-serve" of a question to Ray.
inline std::vector<std::string> words(const kube::Plan& plan) {
  std::vector<std::string> out;
  for (const auto& write : writes(plan))
    out.push_back(write.kind == kube::WriteKind::External
                      ? std::string(string_at(write.body, {"op"}))
                      : write.resource.kind + " " + kube::key_of(write.body).name);
  return out;
}

}  // namespace manta::controllers::rayservice::testing
