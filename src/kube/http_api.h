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

/// What the metrics layer hears of requests. Called on the loop's thread; must be quick.
class HttpObserver {
 public:
  struct Exchange {
    std::string_view method = {};
    int status = 0;  // 0: no answer
    Duration took = {};
    std::size_t request_bytes = 0;
    std::size_t response_bytes = 0;
    bool is_watch = false;  // took and the sizes say nothing
  };
  virtual ~HttpObserver() = default;
  virtual void exchanged(const Exchange& exchange) {}
  /// For a place under the rate limit.
  virtual void waited(std::string_view method, Duration took) {}
  /// That answer is about to be asked for again.
  virtual void retried(std::string_view method, int status) {}
  virtual void resolved(Duration took) {}
};

struct HttpApiOptions {
  ClientConfig config = {};
  std::string user_agent = "manta";
  std::size_t max_response_bytes = 64 << 20;
  std::size_t max_watch_event_bytes = 16 << 20;
  /// Requests a second and burst for each resource, as client-go limits itself; ≤ 0: no limit.
  double qps = 0;
  int burst = 0;
  HttpObserver* observer = nullptr;
};

/// What a busy server put off (429, and for reads also 5xx, with Retry-After) is sent again as it
/// asked, up to ten times within the request's timeout. A write is sent again after 429 only, since
/// a 5xx may have been committed.
///
/// Fails on a configuration that cannot work (a bad server URL or certificate). Connects when first
/// used. The Api must outlive its running calls.
Result<std::unique_ptr<Api>> make_http_api(AsioLoop& loop, HttpApiOptions options);

}  // namespace manta::kube
