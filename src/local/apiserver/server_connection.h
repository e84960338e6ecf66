// One accepted connection, plain or TLS, as coroutines see it.
#pragma once

#include "base/asio_loop.h"
#include "base/result.h"
#include "base/task.h"

#include <memory>
#include <string>

namespace manta::local {

class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  /// At least one byte; an error at the other side's end or ours.
  virtual Task<Result<std::string>> read_some() = 0;
  /// Whole texts in the order of the calls, from any number of tasks. False: the peer has gone.
  virtual Task<bool> write(std::string data) = 0;
  /// Ends pending reads and writes. Safe to call twice.
  virtual void close() = 0;
};

using ConnectionPtr = std::shared_ptr<ServerConnection>;

/// Accepts until stopped. `serve` gets each connection after its TLS handshake.
class Acceptor {
 public:
  using Serve = std::function<void(ConnectionPtr)>;
  struct Options {
    std::string address = {};
    std::uint16_t port = 0;
    std::string certificate_pem = {};
    std::string private_key_pem = {};
  };
  static Result<std::unique_ptr<Acceptor>> listen(AsioLoop& loop, Options options, Serve serve);
  virtual ~Acceptor() = default;
  virtual std::uint16_t port() const = 0;
  virtual void stop() = 0;
};

/// A plain TCP connection to somewhere, for proxied requests.
Task<Result<ConnectionPtr>> connect_to(AsioLoop& loop, std::string host, std::uint16_t port);

}  // namespace manta::local
