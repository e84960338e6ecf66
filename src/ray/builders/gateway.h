// Gateway API objects that shift a RayService's traffic from one cluster to the next.
// Source: spec/03 §5.8.
#pragma once

#include "base/json.h"
#include "ray/types.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace manta::ray {

Json build_gateway(const RayService& service);

/// A cluster behind the route, and its share of the traffic in percent.
struct RouteTarget {
  const RayCluster& cluster;
  std::int32_t weight = 100;
};
Json build_http_route(const RayService& service, const RouteTarget& active,
                      const std::optional<RouteTarget>& pending);
/// All of the traffic to one Service.
Json build_http_route(const RayService& service, std::string_view backend, std::int64_t port);

}  // namespace manta::ray
