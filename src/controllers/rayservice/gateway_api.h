// Gateway API objects as a RayService uses them: what counts as equal, and as ready.
// Source: spec/05 §6.1, §6.2.
#pragma once

#include "kube/views.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace manta::controllers::rayservice {

extern const kube::Resource kGateways, kHttpRoutes;  // gateway.networking.k8s.io/v1

/// Class, and each listener's name, protocol and port; the rest is the user's or defaulted.
bool same_gateway(const Json& live_spec, const Json& wanted_spec);
/// Host names, parents, and each rule's matches, filters and backends.
bool same_route(const Json& live_spec, const Json& wanted_spec);

/// The condition of Accepted and Programmed that is not True yet.
std::optional<std::string> missing_gateway_condition(const kube::SpecView& gateway);
/// The Gateway has taken it, and its backends are known.
bool is_route_ready(const kube::SpecView& route, const kube::ObjectKey& gateway);

/// The weight of a backend in the first rule.
std::optional<std::int32_t> weight_of(const Json& route_spec, std::string_view service);

}  // namespace manta::controllers::rayservice
