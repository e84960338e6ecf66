// The embedded Kubernetes API server, in process: the REST semantics over local::Store.
//
//   auto store = local::Store::open({});                 // in memory
//   local::ApiServer api(loop, random, **store);
//   co_await api.create(kube::kPods, pod);
//
// kubectl and other processes reach the same server over HTTP: apiserver/http_server.h.
// Same request, same answer as a real kube-apiserver; tests/conformance/same_answers.py compares.
#pragma once

#include "base/loop.h"
#include "base/random.h"
#include "kube/api.h"
#include "local/apiserver/store.h"
#include "local/pod_backend.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace manta::local {

class SharedTypes;

struct ApiServerOptions {
  std::string version = "v1.37.0";              // what /version says
  std::string service_cidr = "10.96.0.0/16";    // cluster IPs; .1 is the kubernetes Service
  std::string advertise_address = "127.0.0.1";  // of the `kubernetes` Service's endpoint
  std::uint16_t advertise_port = 6443;
  /// Pods get their ServiceAccount's token, as by the admission plugin of that name.
  bool mount_service_accounts = false;
  int first_node_port = 30000;
  int last_node_port = 32767;
  std::vector<std::string> namespaces = {"default", "kube-system", "kube-public",
                                         "kube-node-lease"};  // made at start
  /// What clients are warned of when they create one, by resource: "raycronjobs.ray.io".
  std::map<std::string, std::string, std::less<>> warnings = {};
  /// Types that other servers have, too; null: this one makes its own.
  std::shared_ptr<const SharedTypes> types = {};
};

/// Who asks, as audit fields and SelfSubjectReview show it.
struct Caller {
  std::string user = "system:admin";
  std::vector<std::string> groups = {"system:masters", "system:authenticated"};
  std::string user_agent = "manta";  // the default field manager is its part before '/'
};

class Rest;
class HttpRouter;

class ApiServer final : public kube::Api {
 public:
  ApiServer(Loop& loop, Random& random, Store& store, ApiServerOptions options = {});
  ~ApiServer() override;
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  Task<Result<kube::Response>> call(kube::Request request) override;
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override;
  /// Any path that answers with one body: discovery, /version, /healthz, OpenAPI, REST paths.
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override;

  /// Who answers pods/log, exec and portforward; null: those answer 503.
  void set_pod_backend(PodBackend* backend);
  PodBackend* pod_backend() const;

  /// The tokens that the HTTP front accepts besides its own: those of serviceaccounts/token.
  bool token_is_valid(std::string_view token, Caller* caller = nullptr) const;

  Rest& rest() { return *rest_; }
  HttpRouter& router() { return *router_; }

 private:
  std::unique_ptr<Rest> rest_;
  std::unique_ptr<HttpRouter> router_;
};

}  // namespace manta::local
