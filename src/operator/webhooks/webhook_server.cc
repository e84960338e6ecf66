#include "operator/webhooks/webhook_server.h"

#include "operator/webhooks/admission.h"

#include <algorithm>

namespace manta::operator_ {
namespace {

constexpr std::size_t kMaxBody = 7 << 20;  // as controller-runtime's
constexpr std::size_t kMaxConnections = 256;
constexpr double kLatencyBounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                     0.5,   1,    2.5,   5,    10};  // Prometheus' own
constexpr int kTellable[] = {200, 500};  // series that exist from the start

}  // namespace

WebhookServer::Counts::Counts() : latency(kLatencyBounds) {
  for (const int status : kTellable) answers[status] = 0;
}

Result<std::unique_ptr<WebhookServer>> WebhookServer::listen(AsioLoop& loop,
                                                             const Options& options) {
  auto certificates = ServerCertificates::load(options.certificate_dir + "/tls.crt",
                                               options.certificate_dir + "/tls.key");
  if (!certificates) return failed(certificates.error());
  std::unique_ptr<WebhookServer> made(new WebhookServer(loop));
  for (const auto& path : admission_paths()) made->counts_[path];
  made->certificates_ = std::move(*certificates);
  auto server = HttpServer::listen(
      loop,
      {.address = options.address,
       .max_body_bytes = kMaxBody,
       .max_connections = kMaxConnections,
       .certificates = made->certificates_},
      [webhooks = made.get()](const ServedRequest& request) { return webhooks->answer(request); });
  if (!server) return failed(server.error());
  made->server_ = std::move(*server);
  return made;
}

HttpAnswer WebhookServer::answer(const ServedRequest& request) {
  const auto counts = counts_.find(request.path());
  if (counts == counts_.end()) return {.status = 404, .body = "404 page not found\n"};
  const Time began = loop_.now();
  const auto review = review_admission(counts->first, request.header("content-type"), request.body);
  HttpAnswer out{.content_type = "application/json", .body = dump_json(review) + "\n"};
  counts->second.latency.observe(
      std::max(0.0, std::chrono::duration<double>(loop_.now() - began).count()));
  ++counts->second.answers[out.status];
  return out;
}

void WebhookServer::write_to(MetricsPage& page) const {
  using enum MetricType;
  page.family("controller_runtime_webhook_latency_seconds", Histogram, "How long reviews took");
  for (const auto& [path, counts] : counts_)
    page.sample(metric_labels({{"webhook", path}}), counts.latency);
  page.family("controller_runtime_webhook_requests_total", Counter, "Reviews, by HTTP status");
  for (const auto& [path, counts] : counts_)
    for (const auto& [status, count] : counts.answers)
      page.sample(metric_labels({{"code", std::to_string(status)}, {"webhook", path}}),
                  static_cast<double>(count));
  page.family("controller_runtime_webhook_requests_in_flight", Gauge, "Reviews under way");
  for (const auto& [path, counts] : counts_) page.sample(metric_labels({{"webhook", path}}), 0);
  write_certificate_metrics(page, certificates_->reads(), certificates_->read_errors());
}

void write_certificate_metrics(MetricsPage& page, std::uint64_t reads, std::uint64_t errors) {
  page.family("certwatcher_read_certificate_total", MetricType::Counter,
              "Times that the certificate was read");
  page.sample("", static_cast<double>(reads));
  page.family("certwatcher_read_certificate_errors_total", MetricType::Counter,
              "Times that it could not be");
  page.sample("", static_cast<double>(errors));
}

}  // namespace manta::operator_
