// HTTP/1.1 on one connection: who asks, what the router answers, and who goes on with a stream.
#pragma once

#include "local/apiserver/http_request_reader.h"

namespace manta::local {

/// What every session of one server shares.
struct SessionContext {
  AsioLoop& loop;
  ApiServer& api;
  std::string token = {};
};

/// Serves the connection until either side ends it.
Task<void> serve_http(std::shared_ptr<const SessionContext> context, ConnectionPtr connection);

}  // namespace manta::local
