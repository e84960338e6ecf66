// The Services in front of a RayService, and the Gateway and route of an incremental one.
// Source: spec/05 §6.1, §6.2, §8.
#pragma once

#include "controllers/rayservice/draft.h"

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace manta::controllers::rayservice {

/// Makes the head Service and the Serve Service, or turns them to `target`.
void ensure_services(Draft& draft, const std::shared_ptr<const ray::RayCluster>& target);
/// True when the Service exists and selects this cluster.
bool selects(const std::shared_ptr<const kube::ServiceView>& service,
             const std::shared_ptr<const ray::RayCluster>& cluster);

/// Made for this RayService, whatever its strategy was then.
bool is_ours(const Draft& draft, const kube::ObjectMeta& meta);

/// One Serve Service for each cluster, in incremental mode. False: it cannot be built.
bool ensure_cluster_serve_service(Draft& draft, const ClusterSeen& cluster);
void ensure_gateway(Draft& draft);
/// The route with these weights; `pending` only counts when that cluster is there.
void ensure_route(Draft& draft, std::int32_t active, std::int32_t pending);

// A strategy can be edited. Nothing is made of the other way of upgrading then, but what is there
// of it goes on to lead to the cluster that serves: the Serve Service in steps (ensure_services
// sees to it), and the route elsewhere.

/// Outside of steps: the route, if there is one of ours, leads to the Serve Service, once that
/// selects `target` and has endpoints.
void turn_left_route(Draft& draft, const std::shared_ptr<const ray::RayCluster>& target);
/// In steps: whether the route may lead to the clusters' own Services. False: it still leads to the
/// Serve Service, and who takes over does not answer yet.
bool may_take_route(Draft& draft, bool active_serves);
/// Names of the Services through which users come, as far as the clusters that are named go.
std::set<std::string, std::less<>> entrances(const Draft& draft);

/// What a Gateway or route says it waits for; nothing when it is in service.
std::optional<std::string> gateway_trouble(const Draft& draft);
/// Weight of a cluster in the route that is stored.
std::optional<std::int32_t> routed(const Draft& draft, const ClusterSeen& cluster);

}  // namespace manta::controllers::rayservice
