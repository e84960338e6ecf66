// HTTP/1.1 on one connection: reads requests, writes answers and streams.
#pragma once

#include "local/apiserver/http_router.h"
#include "local/apiserver/server_connection.h"

namespace manta::local {

/// What every session of one server shares.
struct SessionContext {
  AsioLoop& loop;
  ApiServer& api;
  std::string token = {};
};

/// Serves the connection until either side ends it.
Task<void> serve_http(std::shared_ptr<const SessionContext> context, ConnectionPtr connection);

/// The raw bytes that a connection gave beyond what was asked for, then the connection's own.
class BufferedReader {
 public:
  explicit BufferedReader(ConnectionPtr connection) : connection_(std::move(connection)) {}
  /// Reads more; false at the end.
  Task<bool> fill();
  std::string& buffer() { return buffer_; }
  ServerConnection& connection() { return *connection_; }
  const ConnectionPtr& shared() const { return connection_; }
  /// Exactly `size` bytes, or nothing at the end.
  Task<std::optional<std::string>> take(std::size_t size);

 private:
  ConnectionPtr connection_;
  std::string buffer_ = {};
};

/// WebSocket subresources (exec, attach, portforward); websocket_streams.cc.
Task<void> serve_websocket(std::shared_ptr<const SessionContext> context,
                           std::shared_ptr<BufferedReader> reader, HttpRequest request,
                           PodStream stream);

}  // namespace manta::local
