// As much of SPDY/3.1 as kubectl's port-forward tunnels through a WebSocket: streams with headers,
// data, half-close, ping. Source: SPDY draft 3.1; client-go portforward.
#pragma once

#include "local/apiserver/http_session.h"
#include "local/apiserver/websocket.h"

namespace manta::local {

/// Serves forwarded connections until the client goes. Each is two streams with one requestid: one
/// for data, one for errors.
Task<void> serve_spdy_forward(std::shared_ptr<const SessionContext> context,
                              std::shared_ptr<WebSocket> socket, ContainerTarget target);

/// Header blocks are compressed by one zlib stream per direction, primed with SPDY's dictionary.
class SpdyHeaders {
 public:
  SpdyHeaders();
  ~SpdyHeaders();
  /// Nothing when the block cannot be read.
  std::optional<std::map<std::string, std::string>> read(std::string_view block);
  std::string write(const std::map<std::string, std::string>& headers);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::local
