#include "operator/serve_load.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace manta::operator_ {
namespace {

// A proxy tells its count when that changes, and Ray forgets what has not been told for a while:
// of a request that takes long it says nothing then, and neither of none. Serve's routers tell what
// waits and what is at replicas all the time.
constexpr std::string_view kSeries[] = {
    "ray_serve_num_ongoing_http_requests", "ray_serve_num_ongoing_grpc_requests",
    "ray_serve_deployment_queued_queries", "ray_serve_num_ongoing_requests_at_replicas"};

// "name{labels} value" or "name value"; labels' values may hold anything but a bare quote.
std::optional<double> value_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(name.size());
  if (line.starts_with('{')) {
    const auto end = line.rfind('}');
    if (end == line.npos) return std::nullopt;
    line.remove_prefix(end + 1);
  }
  if (!line.starts_with(' ')) return std::nullopt;  // a longer name
  line.remove_prefix(line.find_first_not_of(' ') == line.npos ? line.size()
                                                              : line.find_first_not_of(' '));
  double value = 0;
  const auto [rest, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (code != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> ongoing_requests(std::string_view metrics) {
  std::optional<double> sum;
  while (!metrics.empty()) {
    const auto end = std::min(metrics.find('\n'), metrics.size());
    const auto line = metrics.substr(0, end);
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
    for (const auto name : kSeries)
      if (const auto value = value_of(line, name)) sum = sum.value_or(0) + *value;
  }
  if (!sum) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(std::clamp(*sum, 0.0, 1e9)));
}

}  // namespace manta::operator_
