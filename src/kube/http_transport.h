// A byte stream to an origin: TCP, maybe through a proxy, maybe TLS. Internal to the HTTP client.
#pragma once

#include "base/asio_loop.h"
#include "kube/http_client.h"
#include "kube/http_url.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace manta::kube::http {

/// Certificates, read once and shared by connections.
class TlsContext {
 public:
  /// Fails on what cannot be read, naming it.
  static Result<std::shared_ptr<TlsContext>> make(const TlsOptions& options);
  virtual ~TlsContext() = default;
};

class Transport : public std::enable_shared_from_this<Transport> {
 public:
  struct Target {
    Url url = {};
    std::optional<Url> proxy = {};
    std::shared_ptr<TlsContext> tls = {};  // needed for https
    Duration timeout = std::chrono::seconds{15};
    std::function<void(Duration took)> on_resolved = {};
  };
  /// Connected; `alpn` tells which protocol TLS agreed on (empty: none).
  struct Ready {
    std::shared_ptr<Transport> transport = {};
    std::string alpn = {};
  };
  static Task<Result<Ready>> connect(AsioLoop& loop, Target target);

  using OnRead = std::function<void(Result<std::string_view>)>;
  using OnWritten = std::function<void(Result<void>)>;
  virtual ~Transport() = default;
  /// One at a time. The bytes are valid during the callback. End of stream is an error.
  virtual void read(OnRead done) = 0;
  /// One at a time.
  virtual void write(std::string data, OnWritten done) = 0;
  /// Pending callbacks still come, with errors.
  virtual void close() = 0;
};

}  // namespace manta::kube::http
