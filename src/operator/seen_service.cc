// What a RayService's planner sees of the caches.
#include "controllers/rayservice/gateway_api.h"
#include "operator/concerned.h"
#include "operator/seen.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"
#include "ray/names.h"

namespace manta::operator_ {
namespace {

using controllers::rayservice::ClusterSeen;
using controllers::rayservice::RayServiceSeen;

ClusterSeen see_cluster(const World& world, const kube::ObjectKey& key) {
  ClusterSeen seen{.cluster = key.name.empty() ? nullptr : world.clusters.get(key)};
  if (!seen.cluster) return seen;
  const auto in_namespace = [&](std::string name) {
    return kube::ObjectKey{key.namespace_, std::move(name)};
  };
  for (auto& pod : world.pods.labelled(key.namespace_, ray::kLabelCluster, key.name)) {
    const auto* owner = pod->meta.controller_owner();
    if (owner && owner->uid == seen.cluster->meta.uid &&
        pod->meta.label(ray::kLabelNodeType) == ray::kNodeTypeHead)
      seen.heads.push_back(std::move(pod));
  }
  seen.head_service = world.services.get(in_namespace(ray::head_service_name(*seen.cluster)));
  seen.serve_service = world.services.get(in_namespace(ray::default_serve_service_name(key.name)));
  if (ray::token_auth_enabled(seen.cluster->spec))
    seen.auth_secret = world.secrets.get(in_namespace(ray::auth_secret_name(*seen.cluster)));
  return seen;
}

void see_slices(const World& world, RayServiceSeen& seen) {
  const auto add = [&](std::string_view service) {
    for (auto& slice :
         world.endpoint_slices.labelled(seen.key().namespace_, kube::kLabelServiceName, service))
      seen.slices.push_back(std::move(slice));
  };
  add(controllers::rayservice::serve_service_name(*seen.service));
  for (const auto* cluster : {&seen.active, &seen.pending})
    if (cluster->serve_service) add(cluster->serve_service->meta.key.name);
}

void see_dropped(const World& world, RayServiceSeen& seen) {
  const auto& status = seen.service->status;
  for (const auto& cluster : seen.clusters) {
    const auto& [namespace_, name] = cluster->meta.key;
    if (name == status.activeServiceStatus.rayClusterName ||
        name == status.pendingServiceStatus.rayClusterName)
      continue;
    seen.dropped_pods[name] = world.pods.labelled(namespace_, ray::kLabelCluster, name);
  }
}

}  // namespace

std::optional<RayServiceSeen> see_ray_service(const World& world, const kube::ObjectKey& key) {
  auto service = world.ray_services.get(key);
  if (!service) return std::nullopt;
  RayServiceSeen seen{.service = service};
  const auto in_namespace = [&](std::string name) {
    return kube::ObjectKey{key.namespace_, std::move(name)};
  };
  const auto& status = service->status;
  seen.active = see_cluster(world, in_namespace(status.activeServiceStatus.rayClusterName));
  seen.pending = see_cluster(world, in_namespace(status.pendingServiceStatus.rayClusterName));
  for (auto& cluster : world.clusters.labelled(key.namespace_, ray::kLabelOriginCrName, key.name))
    if (made_for_service(cluster->meta)) seen.clusters.push_back(std::move(cluster));
  see_dropped(world, seen);
  for (auto& owned : world.services.labelled(key.namespace_, ray::kLabelOriginCrName, key.name))
    if (made_for_service(owned->meta)) seen.services.push_back(std::move(owned));
  seen.head_service = world.services.get(in_namespace(ray::default_head_service_name(key.name)));
  seen.serve_service =
      world.services.get(in_namespace(controllers::rayservice::serve_service_name(*service)));
  if (world.gateways) seen.gateway = world.gateways->get(in_namespace(ray::gateway_name(key.name)));
  if (world.http_routes)
    seen.route = world.http_routes->get(in_namespace(ray::http_route_name(key.name)));
  see_slices(world, seen);
  return seen;
}

bool knows_secrets(const World& world, const RayServiceSeen& seen) {
  for (const auto* cluster : {&seen.active, &seen.pending})
    if (cluster->cluster && !world.secrets.known_to(cluster->cluster->meta.key)) return false;
  return true;
}

}  // namespace manta::operator_
