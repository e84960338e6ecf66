// A small HTTP/1.1 listener for health checks and metrics: GET only, bodies made on the spot.
#pragma once

#include "base/asio_loop.h"
#include "base/result.h"

#include <functional>
#include <memory>
#include <string>

namespace manta::operator_ {

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
};

/// Answers while it lives. Bounds: 8 KiB of request head, 64 connections, 30 s of silence.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(std::string_view target)>;  // "/healthz?verbose"

  /// `address` as Go writes it: ":8080", "127.0.0.1:8080", "[::1]:8080".
  static Result<std::unique_ptr<HttpServer>> listen(AsioLoop& loop, const std::string& address,
                                                    Handler handler);
  ~HttpServer();
  std::uint16_t port() const;

 private:
  struct Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// /healthz and /readyz, with ?verbose and ?exclude=, as controller-runtime serves them.
HttpAnswer answer_health(std::string_view target);

}  // namespace manta::operator_
