// How much Ray Serve's proxies are doing, as they tell Prometheus.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace manta::operator_ {

/// Requests over HTTP and gRPC that the proxies of one node have not answered yet; nothing when its
/// metrics do not say. `metrics` is Prometheus' text format.
std::optional<std::int64_t> ongoing_requests(std::string_view metrics);

}  // namespace manta::operator_
