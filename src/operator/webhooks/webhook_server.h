// The HTTPS server in front of admission.h, and what it counts. Source: spec/07 §17, spec/08 §4.
#pragma once

#include "base/asio_loop.h"
#include "operator/http/http_server.h"
#include "operator/http/server_certificates.h"
#include "operator/metrics/page.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace manta::operator_ {

class WebhookServer {
 public:
  struct Options {
    std::string address = ":9443";
    std::string certificate_dir = {};  // with tls.crt and tls.key
  };
  /// Fails without a certificate that can be used.
  static Result<std::unique_ptr<WebhookServer>> listen(AsioLoop& loop, const Options& options);

  std::uint16_t port() const { return server_->port(); }
  void write_to(MetricsPage& page) const;

 private:
  struct Counts {
    Counts();
    Buckets latency;
    std::map<int, std::uint64_t> answers = {};  // by HTTP status
  };
  explicit WebhookServer(AsioLoop& loop) : loop_(loop) {}
  HttpAnswer answer(const ServedRequest& request);

  AsioLoop& loop_;
  std::map<std::string, Counts, std::less<>> counts_ = {};  // by path
  std::shared_ptr<ServerCertificates> certificates_ = {};
  std::unique_ptr<HttpServer> server_ = {};
};

/// certwatcher_* without a server: present at 0, as controller-runtime has them.
void write_certificate_metrics(MetricsPage& page, std::uint64_t reads, std::uint64_t errors);

}  // namespace manta::operator_
