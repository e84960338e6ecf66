#include "controllers/rayservice/services.h"

#include "controllers/rayservice/gateway_api.h"
#include "controllers/writes.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/gateway.h"
#include "ray/builders/service.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::controllers::rayservice {
namespace {

using ServicePtr = std::shared_ptr<const kube::ServiceView>;

// "Shop corner": whose an object is that stands where one of ours is to be; nothing when we may
// change it.
std::optional<std::string> another_owner(const kube::ObjectMeta& meta,
                                         const kube::ObjectMeta& service) {
  const auto* controller = meta.controller_owner();
  if (!controller || controller->uid == service.uid) return std::nullopt;
  return controller->kind + " " + controller->name;
}

// RC-26. Of Services without an owner those are ours that an earlier RayService of this name left
// behind.
std::optional<std::string> whose_service(const kube::ObjectMeta& meta,
                                         const kube::ObjectMeta& service) {
  if (meta.controller_owner()) return another_owner(meta, service);
  if (meta.label(ray::kLabelOriginCrd) == ray::kKindRayService &&
      meta.label(ray::kLabelOriginCrName) == service.key.name)
    return std::nullopt;
  return "no RayService";
}

void set_service_events(kube::Write& write, bool created, const std::string& key) {
  const auto verb = created ? "Create" : "Update";
  write.done_event =
      normal(fmt::format("{}dService", verb), verb, fmt::format("{}d the service {}", verb, key));
  write.failed_event = warning(
      fmt::format("FailedTo{}Service", verb), verb,
      fmt::format("Failed to {} the service {}, {{error}}", created ? "create" : "update", key));
}

// Adds what `wanted` has of labels and annotations; what users added stays.
void add_metadata(JsonArray& patch, const kube::ObjectMeta& live, const Json& wanted) {
  for (const auto& [field, map] :
       {std::pair{"annotations", &live.annotations}, std::pair{"labels", &live.labels}}) {
    JsonObject merged;
    for (const auto& [key, value] : *map) merged[key] = value;
    for (const auto& one : object_at(wanted, {"metadata", field})) merged[one.key()] = one.value();
    patch.push_back({{"op", "add"},
                     {"path", fmt::format("/metadata/{}", field)},
                     {"value", std::move(merged)}});
  }
}

// Drift of a Service that selects the right cluster is the user's own.
void ensure_service(Draft& draft, const ServicePtr& live,
                    const std::shared_ptr<const ray::RayCluster>& target, Json wanted,
                    std::string_view lane) {
  const auto key = created_key(wanted);
  if (!live) {
    auto write = create(kube::kServices, std::move(wanted), lane);
    set_service_events(write, true, key);
    write.why = "the applications run";
    draft.write(std::move(write));
    return;
  }
  if (selects(live, target)) return;
  if (const auto whose = whose_service(live->meta, draft.service().meta))
    return draft.block(target->meta.key.name, fmt::format("Service {} belongs to {}", key, *whose));
  kube::Write write{.kind = kube::WriteKind::Patch,
                    .resource = kube::kServices,
                    .key = live->meta.key,
                    .body = replace_spec(*live, object_at(wanted, {"spec"})),
                    .patch_type = kube::PatchType::Json,
                    .lane = std::string(lane),
                    .why = "another cluster serves now"};
  if (draft.settings.service_gates.inherit_service_meta && live->whole)  // the head's
    add_metadata(write.body.as_array(), live->whole->meta, wanted);
  set_service_events(write, false, key);
  draft.write(std::move(write));
}

void set_events(kube::Write& write, std::string_view verb, std::string_view kind,
                const std::string& key) {
  const bool created = verb == "Create";
  const auto of = created ? " for RayService" : "";
  write.done_event =
      normal(fmt::format("{}d{}", verb, kind), verb,
             fmt::format("{}d {}{}{} {}", verb, created ? "" : "the ", kind, of, key));
  // Upstream's articles: none for a Gateway that is created.
  const auto article = created && kind == "Gateway" ? "" : "the ";
  write.failed_event = warning(fmt::format("FailedTo{}{}", verb, kind), verb,
                               fmt::format("Failed to {} {}{}{} {}: {{error}}",
                                           created ? "create" : "update", article, kind, of, key));
}

// Labels, annotations and all else of the metadata are the user's.
void ensure_object(Draft& draft, const kube::Resource& resource,
                   const std::shared_ptr<const kube::SpecView>& live, Json wanted, bool same,
                   std::string_view lane) {
  const auto key = created_key(wanted);
  if (!live) {
    auto write = create(resource, std::move(wanted), lane);
    set_events(write, "Create", resource.kind, key);
    if (const auto failure = draft.context.failures.find(lane);
        failure != draft.context.failures.end())
      draft.upgrade_waits.push_back(
          fmt::format("{} {}: {}", resource.kind, key, failure->second.error.message));
    draft.write(std::move(write));
    return;
  }
  if (same) return;
  if (const auto whose = another_owner(live->meta, draft.service().meta)) {
    draft.upgrade_waits.push_back(fmt::format("{} {} belongs to {}", resource.kind, key, *whose));
    return;
  }
  wanted.as_object()["metadata"] = ray::to_json(live->meta);
  kube::Write write{.kind = kube::WriteKind::Update,
                    .resource = resource,
                    .key = live->meta.key,
                    .body = std::move(wanted),
                    .lane = std::string(lane),
                    .why = "it differs from what the rollout asks for"};
  set_events(write, "Update", resource.kind, key);
  draft.write(std::move(write));
}

// What users gave the head Service, its owner's, too. RS-27
Json head_service_for(const Draft& draft, const ray::RayCluster& target) {
  auto service = ray::build_head_service(draft.service(), target, draft.settings.build);
  if (!draft.settings.service_gates.inherit_service_meta) return service;
  for (const auto& [key, value] : target.spec.headServiceAnnotations)
    ensure(service, {"metadata", "annotations", key}) = value;
  for (const auto& label : object_at(target.spec.headGroupSpec.headService, {"metadata", "labels"}))
    if (auto& labels = ensure(service, {"metadata", "labels"}).as_object();
        !labels.contains(label.key()))
      labels[label.key()] = label.value();
  return service;
}

// One that was just made has no endpoints yet: who is sent there meanwhile finds nobody.
bool answers(Draft& draft, const kube::ServiceView& service) {
  constexpr std::chrono::seconds kFindsEndpointsWithin{5};
  for (const auto& slice : draft.seen.slices)
    if (slice->meta.label(kube::kLabelServiceName) == service.meta.key.name &&
        !slice->ready_targets.empty())
      return true;
  return draft.has_come(service.meta.created + kFindsEndpointsWithin);
}

std::int64_t serve_port(const kube::ServiceView& service, const ray::RayCluster& target) {
  const auto named =
      std::ranges::find(service.ports, ray::kPortServeName, &kube::ServicePortView::name);
  if (named != service.ports.end()) return named->port;
  return service.ports.empty() ? ray::serve_container_port(target.spec) : service.ports[0].port;
}

}  // namespace

bool is_ours(const Draft& draft, const kube::ObjectMeta& meta) {
  const auto* owner = meta.controller_owner();
  return owner && owner->uid == draft.service().meta.uid;
}

bool selects(const ServicePtr& service, const std::shared_ptr<const ray::RayCluster>& cluster) {
  if (!service || !cluster) return false;
  const auto found = service->selector.find(ray::kLabelCluster);
  return found != service->selector.end() && found->second == cluster->meta.key.name;
}

void ensure_services(Draft& draft, const std::shared_ptr<const ray::RayCluster>& target) {
  ensure_service(draft, draft.seen.head_service, target, head_service_for(draft, *target),
                 "head-service");
  const auto& left = draft.seen.serve_service;
  if (draft.incremental && !(left && is_ours(draft, left->meta)))
    return;  // each cluster has its own
  auto serve = ray::build_serve_service(draft.service(), *target);
  if (!serve) {
    if (!selects(draft.seen.serve_service, target))
      draft.block(target->meta.key.name, serve.error().message);
    return;
  }
  ensure_service(draft, draft.seen.serve_service, target, std::move(*serve), "serve-service");
}

bool ensure_cluster_serve_service(Draft& draft, const ClusterSeen& cluster) {
  if (cluster.serve_service) return true;
  auto service = ray::build_incremental_serve_service(draft.service(), *cluster.cluster);
  if (!service) {
    draft.block(cluster.cluster->meta.key.name, service.error().message);
    return false;
  }
  draft.write(create(kube::kServices, std::move(*service),
                     "serve-service:" + cluster.cluster->meta.key.name));
  return true;
}

void ensure_gateway(Draft& draft) {
  auto wanted = ray::build_gateway(draft.service());
  const auto& live = draft.seen.gateway;
  const bool same = live && same_gateway(live->spec, *find(wanted, {"spec"}));
  ensure_object(draft, kGateways, live, std::move(wanted), same, "gateway");
}

void ensure_route(Draft& draft, std::int32_t active, std::int32_t pending) {
  std::optional<ray::RouteTarget> second;
  if (draft.seen.pending.exists())
    second.emplace(ray::RouteTarget{*draft.seen.pending.cluster, pending});
  auto wanted =
      ray::build_http_route(draft.service(), {*draft.seen.active.cluster, active}, second);
  const auto& live = draft.seen.route;
  const bool same = live && same_route(live->spec, *find(wanted, {"spec"}));
  ensure_object(draft, kHttpRoutes, live, std::move(wanted), same, "route");
}

void turn_left_route(Draft& draft, const std::shared_ptr<const ray::RayCluster>& target) {
  const auto& route = draft.seen.route;
  const auto& service = draft.seen.serve_service;
  if (!route || !is_ours(draft, route->meta) || !selects(service, target)) return;
  auto wanted =
      ray::build_http_route(draft.service(), service->meta.key.name, serve_port(*service, *target));
  if (same_route(route->spec, *find(wanted, {"spec"})) || !answers(draft, *service)) return;
  ensure_object(draft, kHttpRoutes, route, std::move(wanted), false, "route");
}

bool may_take_route(Draft& draft, bool active_serves) {
  const auto& seen = draft.seen;
  if (!seen.route || routed(draft, seen.active) || routed(draft, seen.pending)) return true;
  if (weight_of(seen.route->spec, serve_service_name(draft.service())).value_or(0) == 0)
    return true;
  if (selects(seen.serve_service, seen.pending.cluster) && !active_serves) return false;
  return seen.active.serve_service && answers(draft, *seen.active.serve_service);
}

std::set<std::string, std::less<>> entrances(const Draft& draft) {
  const auto& seen = draft.seen;
  const bool left_route = !draft.incremental && seen.route && is_ours(draft, seen.route->meta);
  std::set<std::string, std::less<>> names;
  for (const auto* cluster : {&seen.active, &seen.pending}) {
    const bool leads = draft.incremental ? seen.active.cluster != nullptr
                                         : left_route && routed(draft, *cluster).value_or(0) > 0;
    if (leads && cluster->serve_service) names.insert(cluster->serve_service->meta.key.name);
  }
  const bool left_service =
      draft.incremental && seen.serve_service && is_ours(draft, seen.serve_service->meta);
  if (!draft.incremental || left_service || names.empty())
    names.insert(serve_service_name(draft.service()));
  return names;
}

std::optional<std::string> gateway_trouble(const Draft& draft) {
  const auto& key = draft.seen.key();
  const auto gateway = fmt::format("{}/{}", key.namespace_, ray::gateway_name(key.name));
  if (!draft.seen.gateway) return fmt::format("Gateway {} is not there", gateway);
  if (const auto missing = missing_gateway_condition(*draft.seen.gateway))
    return fmt::format("Gateway {} is not {}", gateway, *missing);
  const auto route = fmt::format("{}/{}", key.namespace_, ray::http_route_name(key.name));
  if (!draft.seen.route) return fmt::format("HTTPRoute {} is not there", route);
  if (!is_route_ready(*draft.seen.route, draft.seen.gateway->meta.key))
    return fmt::format("HTTPRoute {} is not accepted by Gateway {}", route, gateway);
  return std::nullopt;
}

std::optional<std::int32_t> routed(const Draft& draft, const ClusterSeen& cluster) {
  if (!draft.seen.route || !cluster.cluster) return std::nullopt;
  return weight_of(draft.seen.route->spec,
                   ray::default_serve_service_name(cluster.cluster->meta.key.name));
}

}  // namespace manta::controllers::rayservice
