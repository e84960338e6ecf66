// A small HTTP/1.1 server for health checks, metrics and webhooks: answers are made on the spot.
#pragma once

#include "base/asio_loop.h"
#include "base/result.h"
#include "operator/http/http_request.h"

#include <functional>
#include <memory>
#include <string>

namespace manta::operator_ {

class ServerCertificates;

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::string content_encoding = {};  // "gzip"
};

/// Answers while it lives. Silence for 30 s ends a connection.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const ServedRequest& request)>;
  struct Options {
    /// As Go writes it: ":8080", "127.0.0.1:8080", "[::1]:8080".
    std::string address = {};
    std::size_t max_body_bytes = 0;
    std::size_t max_connections = 64;                       // more wait
    std::shared_ptr<ServerCertificates> certificates = {};  // given: TLS
  };

  static Result<std::unique_ptr<HttpServer>> listen(AsioLoop& loop, Options options,
                                                    Handler handler);
  ~HttpServer();
  std::uint16_t port() const;

 private:
  struct Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// For handlers that only read: 405 for anything but GET and HEAD.
HttpServer::Handler only_get(HttpServer::Handler handler);
/// /healthz and /readyz, with ?verbose and ?exclude=, as controller-runtime serves them.
HttpAnswer answer_health(const ServedRequest& request);

}  // namespace manta::operator_
