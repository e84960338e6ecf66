// How much Ray Serve's proxies are doing, as they tell Prometheus.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace manta::operator_ {

/// 0 when everything is answered that came to one node; else at least one, as a request may count
/// where it came in and where it is handled. Nothing when the node's metrics do not say. `metrics`
/// is Prometheus' text format.
std::optional<std::int64_t> ongoing_requests(std::string_view metrics);

}  // namespace manta::operator_
