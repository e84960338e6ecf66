// kube::Api over HTTP to a real API server.
//
//   auto api = make_http_api(loop, {.config = *config, .user_agent = "manta/v1.0"});
//   if (!api) return failed(api.error());
//   auto pods = co_await (*api)->list(kPods, "default");
#pragma once

#include "base/asio_loop.h"
#include "kube/api.h"
#include "kube/kubeconfig.h"

#include <memory>
#include <string>

namespace manta::kube {

struct HttpApiOptions {
  ClientConfig config = {};
  std::string user_agent = "manta";
  std::size_t max_response_bytes = 64 << 20;
  std::size_t max_watch_event_bytes = 16 << 20;
  /// Requests a second and burst for each resource, as client-go limits itself; ≤ 0: no limit.
  double qps = 0;
  int burst = 0;
};

/// Fails on a configuration that cannot work (a bad server URL or certificate). Connects when first
/// used. The Api must outlive its running calls.
Result<std::unique_ptr<Api>> make_http_api(AsioLoop& loop, HttpApiOptions options);

}  // namespace manta::kube
