#include "operator/metrics/rest_metrics.h"

#include <span>

namespace manta::operator_ {
namespace {

constexpr double kSecondBounds[] = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
constexpr double kByteBounds[] = {64,    256,    512,     1024,    4096,    16384,
                                  65536, 262144, 1048576, 4194304, 16777216};
constexpr std::span kResolvingBounds(kSecondBounds, std::size(kSecondBounds) - 1);  // none at 60

double seconds(Duration span) { return std::max(0.0, std::chrono::duration<double>(span).count()); }

std::string code_of(int status) { return status == 0 ? "<error>" : std::to_string(status); }

}  // namespace

RestMetrics::Method::Method()
    : latency(kSecondBounds),
      waiting(kSecondBounds),
      request_bytes(kByteBounds),
      response_bytes(kByteBounds) {}

RestMetrics::RestMetrics(std::string host) : host_(std::move(host)), resolving_(kResolvingBounds) {}

RestMetrics::Method& RestMetrics::of(std::string_view method) {
  const auto found = methods_.find(method);
  return found != methods_.end() ? found->second : methods_[std::string(method)];
}

void RestMetrics::exchanged(const Exchange& exchange) {
  requests_[metric_labels(
      {{"code", code_of(exchange.status)}, {"host", host_}, {"method", exchange.method}})] += 1;
  if (exchange.is_watch) return;
  auto& method = of(exchange.method);
  method.has_exchange = true;
  method.latency.observe(seconds(exchange.took));
  method.request_bytes.observe(static_cast<double>(exchange.request_bytes));
  method.response_bytes.observe(static_cast<double>(exchange.response_bytes));
}

void RestMetrics::waited(std::string_view method, Duration took) {
  of(method).waiting.observe(seconds(took));
}

void RestMetrics::retried(std::string_view method, int status) {
  retries_[metric_labels({{"code", code_of(status)}, {"host", host_}, {"verb", method}})] += 1;
}

void RestMetrics::resolved(Duration took) {
  has_resolved_ = true;
  resolving_.observe(seconds(took));
}

void RestMetrics::write_to(MetricsPage& page) const {
  using enum MetricType;
  page.family("rest_client_requests_total", Counter, "Requests to the API server");
  for (const auto& [labels, count] : requests_) page.sample(labels, count);
  page.family("rest_client_request_retries_total", Counter, "Requests sent again");
  for (const auto& [labels, count] : retries_) page.sample(labels, count);

  const auto each = [&](std::string_view family, std::string_view help, auto member, auto when) {
    page.family(family, Histogram, help);
    for (const auto& [name, method] : methods_)
      if (when(method))
        page.sample(metric_labels({{"host", host_}, {"verb", name}}), method.*member);
  };
  const auto exchanged = [](const Method& method) { return method.has_exchange; };
  const auto always = [](const Method&) { return true; };
  each("rest_client_request_duration_seconds", "How long requests took", &Method::latency,
       exchanged);
  each("rest_client_request_size_bytes", "Sizes of requests", &Method::request_bytes, exchanged);
  each("rest_client_response_size_bytes", "Sizes of answers", &Method::response_bytes, exchanged);
  each("rest_client_rate_limiter_duration_seconds", "How long requests waited under the limit",
       &Method::waiting, always);
  if (!has_resolved_) return;
  page.family("rest_client_dns_resolution_duration_seconds", Histogram,
              "How long it took to look the server's name up");
  page.sample(metric_labels({{"host", host_}}), resolving_);
}

std::string host_of(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos)
    url.remove_prefix(scheme + 3);
  return std::string(url.substr(0, url.find('/')));
}

}  // namespace manta::operator_
