// The Services in front of a RayService, and the Gateway and route of an incremental one.
// Source: spec/05 §6.1, §6.2, §8.
#pragma once

#include "controllers/rayservice/draft.h"

#include <optional>

namespace manta::controllers::rayservice {

/// Makes the head Service and the Serve Service, or turns them to `target`.
void ensure_services(Draft& draft, const std::shared_ptr<const ray::RayCluster>& target);
/// True when the Service exists and selects this cluster.
bool selects(const std::shared_ptr<const kube::ServiceView>& service,
             const std::shared_ptr<const ray::RayCluster>& cluster);

/// One Serve Service for each cluster, in incremental mode. False: it cannot be built.
bool ensure_cluster_serve_service(Draft& draft, const ClusterSeen& cluster);
void ensure_gateway(Draft& draft);
/// The route with these weights; `pending` only counts when that cluster is there.
void ensure_route(Draft& draft, std::int32_t active, std::int32_t pending);

/// What a Gateway or route says it waits for; nothing when it is in service.
std::optional<std::string> gateway_trouble(const Draft& draft);
/// Weight of a cluster in the route that is stored.
std::optional<std::int32_t> routed(const Draft& draft, const ClusterSeen& cluster);

}  // namespace manta::controllers::rayservice
