#include "ray/builders/gateway.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/builders/service.h"
#include "ray/labels.h"
#include "ray/names.h"

namespace manta::ray {
namespace {

Json gateway_object(std::string_view kind, std::string_view name, const RayService& service,
                    JsonObject spec) {
  JsonObject metadata{{"name", name},
                      {"namespace", service.meta.key.namespace_},
                      {"ownerReferences", JsonArray{owner_json(service.meta, kKindRayService)}}};
  return JsonObject{{"apiVersion", "gateway.networking.k8s.io/v1"},
                    {"kind", kind},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

JsonObject backend(const RouteTarget& target) {
  return JsonObject{{"name", default_serve_service_name(target.cluster.meta.key.name)},
                    {"namespace", target.cluster.meta.key.namespace_},
                    {"port", serve_container_port(target.cluster.spec)},
                    {"weight", target.weight}};
}

Json route_object(const RayService& service, JsonArray backends) {
  JsonArray parents;
  parents.push_back(JsonObject{{"name", gateway_name(service.meta.key.name)},
                               {"namespace", service.meta.key.namespace_}});
  JsonArray matches;
  matches.push_back(JsonObject{{"path", JsonObject{{"type", "PathPrefix"}, {"value", "/"}}}});
  JsonArray rules;
  rules.push_back(
      JsonObject{{"matches", std::move(matches)}, {"backendRefs", std::move(backends)}});
  return gateway_object(
      "HTTPRoute", http_route_name(service.meta.key.name), service,
      JsonObject{{"parentRefs", std::move(parents)}, {"rules", std::move(rules)}});
}

}  // namespace

Json build_gateway(const RayService& service) {
  const auto& strategy = service.spec.upgradeStrategy;
  const std::string gateway_class = strategy && strategy->clusterUpgradeOptions
                                        ? strategy->clusterUpgradeOptions->gatewayClassName
                                        : "";
  JsonArray listeners;
  listeners.push_back(JsonObject{{"name", "http"}, {"protocol", "HTTP"}, {"port", 80}});
  return gateway_object(
      "Gateway", gateway_name(service.meta.key.name), service,
      JsonObject{{"gatewayClassName", gateway_class}, {"listeners", std::move(listeners)}});
}

Json build_http_route(const RayService& service, const RouteTarget& active,
                      const std::optional<RouteTarget>& pending) {
  JsonArray backends;
  backends.push_back(backend(active));
  if (pending) backends.push_back(backend(*pending));
  return route_object(service, std::move(backends));
}

Json build_http_route(const RayService& service, std::string_view backend, std::int64_t port) {
  JsonArray backends;
  backends.push_back(JsonObject{{"name", backend},
                                {"namespace", service.meta.key.namespace_},
                                {"port", port},
                                {"weight", 100}});
  return route_object(service, std::move(backends));
}

}  // namespace manta::ray
