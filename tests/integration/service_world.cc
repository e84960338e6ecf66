#include "service_world.h"

#include "controllers/rayservice/gateway_api.h"
#include "served.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace manta::integration {

using namespace std::chrono_literals;
using controllers::rayservice::kGateways;
using controllers::rayservice::kHttpRoutes;

const char* const kService = R"(
apiVersion: ray.io/v1
kind: RayService
metadata: {name: s}
spec:
  serveConfigV2: "applications: [{name: a, import_path: 'm:a', route_prefix: /}]"
  rayClusterConfig:
    rayVersion: "2.54.0"
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-head
            image: one
            resources: {limits: {cpu: "1", memory: 2Gi}}
    workerGroupSpecs:
    - groupName: g
      replicas: 1
      minReplicas: 0
      maxReplicas: 10
      rayStartParams: {}
      template: {spec: {containers: [{name: w, image: ray}]}}
)";

const char* const kIncrementalService = R"(
apiVersion: ray.io/v1
kind: RayService
metadata: {name: s}
spec:
  upgradeStrategy:
    type: NewClusterWithIncrementalUpgrade
    clusterUpgradeOptions: {maxSurgePercent: 50, stepSizePercent: 50, intervalSeconds: 5, gatewayClassName: edge}
  serveConfigV2: "applications: [{name: a, import_path: 'm:a', route_prefix: /}]"
  rayClusterConfig:
    rayVersion: "2.54.0"
    enableInTreeAutoscaling: true
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-head
            image: one
            resources: {limits: {cpu: "1", memory: 2Gi}}
    workerGroupSpecs:
    - groupName: g
      replicas: 1
      minReplicas: 1
      maxReplicas: 10
      rayStartParams: {}
      template: {spec: {containers: [{name: w, image: ray}]}}
)";

namespace {

WorldOptions between(WorldOptions options, std::shared_ptr<ServeDouble*> serve) {
  options.start_operator = false;
  options.tamper_ray = [serve = std::move(serve)](kube::Outside& rest) {
    auto made = std::make_unique<ServeDouble>(rest);
    *serve = made.get();
    return made;
  };
  return options;
}

std::string rollout_name(const Json& service, std::string_view side) {
  return std::string(string_at(service, {"status", side, "rayClusterName"}));
}

}  // namespace

ServiceWorld::ServiceWorld(WorldOptions options)
    : ServiceWorld(std::move(options), std::make_shared<ServeDouble*>()) {}

ServiceWorld::ServiceWorld(WorldOptions options, const std::shared_ptr<ServeDouble*>& serve)
    : World(between(std::move(options), serve)), serve_(*serve), scope_(loop()) {
  serve_->attach(loop());
  serve_->head_of = ray().head_of;
  scope_.spawn("endpoints", follow());
  start_operator();
}

ServiceWorld::~ServiceWorld() {
  stop_operator();
  scope_.request_stop();
  loop().run_until([&] { return scope_.running() == 0; }, 10min);
}

// As the endpoint controller and a Gateway's controller do it.
Task<void> ServiceWorld::follow() {
  std::uint64_t seen = 0;
  while (co_await sleep(loop(), 100ms, scope_.stop_token())) {
    if (gateway_served_) co_await publish_gateway();
    if (seen == mirror().changes()) continue;
    seen = mirror().changes();
    std::vector<Json> services;
    for (const auto* service :
         mirror().list("Service", {{"ray.io/originated-from-crd", "RayService"}}))
      services.push_back(*service);
    for (auto& service : services) co_await publish_endpoints(std::move(service));
  }
}

Task<void> ServiceWorld::publish_endpoints(Json service) {
  const auto name = name_of(service);
  kube::StringMap labels;
  for (const auto& [key, value] : object_at(service, {"spec", "selector"}))
    labels[std::string(key)] = std::string(value.as_string());
  if (!labels.contains("ray.io/serve")) co_return;
  JsonArray endpoints;
  for (const auto* pod : mirror().list("Pod", labels)) {
    if (!is_live(*pod)) continue;
    const bool ready = condition_of(*pod, "Ready").starts_with("True");
    endpoints.push_back(
        {{"addresses", JsonArray{string_at(*pod, {"status", "podIP"}, "10.0.0.1")}},
         {"conditions", {{"ready", ready}}},
         {"targetRef", {{"kind", "Pod"}, {"name", name_of(*pod)}, {"uid", uid_of(*pod)}}}});
  }
  const auto text = dump_json(endpoints);
  if (published_[name] == text) co_return;
  published_[name] = text;
  Json slice{{"apiVersion", "discovery.k8s.io/v1"},
             {"kind", "EndpointSlice"},
             {"metadata",
              {{"name", name + "-1"},
               {"namespace", "default"},
               {"labels", {{"kubernetes.io/service-name", name}}}}},
             {"addressType", "IPv4"},
             {"endpoints", std::move(endpoints)}};
  const kube::ObjectKey key{"default", name + "-1"};
  if (mirror().find("EndpointSlice", key.name))
    (void)co_await server().patch(kube::kEndpointSlices, key, kube::PatchType::Merge,
                                  std::move(slice));
  else
    (void)co_await server().create(kube::kEndpointSlices, std::move(slice));
}

Task<void> ServiceWorld::publish_gateway() {
  const auto condition = [](std::string_view type, bool is) {
    return Json{{"type", type}, {"status", is ? "True" : "False"}, {"reason", type}};
  };
  const bool up = gateway_programmed_;
  const Json gateway{
      {"status",
       {{"conditions", JsonArray{condition("Accepted", true), condition("Programmed", up)}}}}};
  const Json parent{
      {"parentRef", {{"name", "s-gateway"}}},
      {"conditions", JsonArray{condition("Accepted", up), condition("ResolvedRefs", up)}}};
  const Json route{{"status", {{"parents", JsonArray{parent}}}}};
  for (const auto& [resource, name, status] : {std::tuple(kGateways, "s-gateway", gateway),
                                               std::tuple(kHttpRoutes, "s-httproute", route)}) {
    const auto* live = mirror().find(resource.kind, name);
    if (!live || object_at(*live, {"status"}) == object_at(status, {"status"})) continue;
    (void)co_await server().call({.verb = kube::Verb::Patch,
                                  .resource = resource,
                                  .namespace_ = "default",
                                  .name = name,
                                  .subresource = "status",
                                  .body = status,
                                  .patch_type = kube::PatchType::Merge});
  }
}

ServiceWorld& ServiceWorld::deploy(std::string_view yaml) {
  apply(yaml).run_until(service_serves("s"));
  return *this;
}

ServiceWorld& ServiceWorld::set_image(std::string_view image) {
  patch(
      "RayService", "s",
      fmt::format("{{spec: {{rayClusterConfig: {{headGroupSpec: {{template: {{spec: {{containers: "
                  "[{{name: ray-head, image: {}, resources: {{limits: {{cpu: '1', memory: "
                  "2Gi}}}}}}]}}}}}}}}}}}}",
                  image));
  return *this;
}

ServiceWorld& ServiceWorld::begin_upgrade(std::string_view image) {
  set_image(image).run_until({"traffic has begun to move", [this, old = active()](const World&) {
                                const auto now = weights();
                                return now.size() == 2 && now.at(old) < 100;
                              }});
  return *this;
}

ServiceWorld& ServiceWorld::set_config(std::string_view yaml) {
  merge("RayService", "s", JsonObject{{"spec", {{"serveConfigV2", yaml}}}});
  return *this;
}

std::string ServiceWorld::active() const { return rollout_name(service(), "activeServiceStatus"); }
std::string ServiceWorld::pending() const {
  return rollout_name(service(), "pendingServiceStatus");
}

std::string ServiceWorld::condition(std::string_view type) const {
  return condition_of(service(), type);
}

std::string ServiceWorld::message(std::string_view type) const {
  for (const auto& condition : array_at(service(), {"status", "conditions"}))
    if (string_at(condition, {"type"}) == type)
      return std::string(string_at(condition, {"message"}));
  return {};
}

std::vector<std::string> ServiceWorld::clusters() const {
  std::vector<std::string> names;
  for (const auto* cluster : mirror().list("RayCluster"))
    if (!is_deleting(*cluster)) names.push_back(name_of(*cluster));
  return names;
}

std::string ServiceWorld::behind(std::string_view name) const {
  return std::string(string_at(get("Service", name), {"spec", "selector", "ray.io/cluster"}));
}

std::map<std::string, std::int64_t> ServiceWorld::weights() const {
  std::map<std::string, std::int64_t> out;
  for (const auto& rule : array_at(get("HTTPRoute", "s-httproute"), {"spec", "rules"}))
    for (const auto& backend : array_at(rule, {"backendRefs"})) {
      std::string name(string_at(backend, {"name"}));
      out[name.substr(0, name.size() - std::string_view("-serve-svc").size())] =
          int_at(backend, {"weight"});
    }
  return out;
}

int ServiceWorld::capacity(std::string_view side) const {
  return static_cast<int>(
      int_at(service(), {"status", fmt::format("{}ServiceStatus", side), "targetCapacity"}, -1));
}

ServiceWorld& ServiceWorld::serve_gateway_api() {
  integration::serve(*this, kGateways);
  integration::serve(*this, kHttpRoutes);
  gateway_served_ = true;
  pass(35s);  // the operator asks for what it found missing by and by
  return *this;
}

ServiceWorld& ServiceWorld::set_gateway(bool programmed) {
  gateway_programmed_ = programmed;
  pass(1s);
  return *this;
}

ServiceWorld& ServiceWorld::forget_endpoints() {
  std::vector<std::string> names;
  for (const auto* slice : mirror().list("EndpointSlice")) names.push_back(name_of(*slice));
  for (const auto& name : names)
    (void)loop().run(server().call({.verb = kube::Verb::Delete,
                                    .resource = kube::kEndpointSlices,
                                    .namespace_ = "default",
                                    .name = name}));
  published_.clear();
  return *this;
}

Until has_condition(std::string name, std::string type, std::string wanted) {
  return {fmt::format("{} has condition {} {}", name, type, wanted), [=](const World& world) {
            return condition_of(world.get("RayService", name), type) == wanted;
          }};
}

Until service_serves(std::string name) {
  return has_condition(std::move(name), "Ready", "True NonZeroServeEndpoints");
}

Until upgraded(std::string name) {
  return has_condition(std::move(name), "UpgradeInProgress", "False NoPendingCluster");
}

}  // namespace manta::integration
