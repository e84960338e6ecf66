// The REST verbs over the store: what every caller of the embedded API server shares, in process
// and over HTTP. Nothing here waits: one thread, one store, a verb runs to its end.
#pragma once

#include "base/loop.h"
#include "base/random.h"
#include "kube/api.h"
#include "local/apiserver/api_server.h"
#include "local/apiserver/kinds.h"
#include "local/apiserver/shared_types.h"
#include "local/apiserver/store.h"
#include "local/apiserver/watch_hub.h"
#include "local/pod_backend.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace manta::local {

/// What one request learns besides its answer.
struct Context {
  Caller caller = {};
  std::vector<std::string> warnings = {};
  bool created = false;  // HTTP 201
};

/// A page of objects as stored text, in key order.
struct ListPage {
  std::vector<SharedText> items = {};
  std::string resource_version = {};
  std::string continue_ = {};
  std::optional<std::int64_t> remaining = {};
};

class Rest {
 public:
  Rest(Loop& loop, Random& random, Store& store, ApiServerOptions options);
  ~Rest();

  /// Any verb of a resource or subresource that answers with one object.
  Result<Json> run(kube::Request& request, Context& context);

  Result<Json> get(const Kind& kind, const std::string& namespace_, const std::string& name);
  Result<ListPage> list(const Kind& kind, const kube::Request& request);
  Result<Json> create(const Kind& kind, kube::Request& request, Context& context);
  Result<Json> update(const Kind& kind, kube::Request& request, Context& context);
  Result<Json> patch(const Kind& kind, kube::Request& request, Context& context);
  Result<Json> remove(const Kind& kind, const kube::Request& request, Context& context);
  Result<Json> remove_collection(const Kind& kind, const kube::Request& request, Context& context);

  /// The list as one document.
  Json list_document(const Kind& kind, const ListPage& page);
  Result<KindPtr> kind_of(const kube::Resource& resource) const;

  Kinds& kinds() { return kinds_; }
  BuiltinTypes& types() { return types_->builtin(); }
  WatchHub& hub() { return hub_; }
  Store& store() { return store_; }
  Loop& loop() { return loop_; }
  Random& random() { return random_; }
  const ApiServerOptions& options() const { return options_; }
  PodBackend* backend = nullptr;
  struct IssuedToken {
    Caller caller = {};
    Time until = {};
  };
  /// Whose token of serviceaccounts/token this is; null: nobody's, or not any longer.
  const Caller* caller_of_token(std::string_view token) const;

  /// The stored object, or none. For strategies.
  Result<std::optional<Json>> read(const Kind& kind, std::string_view namespace_,
                                   std::string_view name);

 private:
  std::map<std::string, IssuedToken, std::less<>> tokens_ = {};
  friend Result<Json> apply_patch(Rest& rest, const Kind& kind, const Json* current,
                                  kube::Request& request, Context& context);

  /// apiVersion and kind must be those of the collection.
  static Result<void> check_type(const Kind& kind, const Json& body);
  /// The body as it would be stored: canonical, pruned, with a CRD's defaults. Unknown fields fail,
  /// warn or go unsaid, as the request wants.
  Result<Json> decode(const Kind& kind, const Json& body, const kube::Request& request,
                      Context& context);
  Result<void> check_namespace(const Kind& kind, std::string_view namespace_,
                               std::string_view name);
  /// Everything that a stored object must satisfy; `old` is what it replaces, if it does.
  Result<void> check_object(const Kind& kind, const Json& object, const Json* old);
  Result<Json> write(const Kind& kind, Json object, bool dry_run);
  Result<Json> erase(const Kind& kind, Json object, bool dry_run);
  /// The common end of update and patch: `wanted` replaces `current` under the rules of the
  /// subresource.
  Result<Json> replace(const Kind& kind, Json current, Json wanted, const kube::Request& request,
                       Context& context);
  Result<Json> patched(const Kind& kind, const Json& current, const kube::Request& request,
                       Context& context);
  Result<Json> remove_object(const Kind& kind, Json object, const kube::Request& request,
                             bool& deleted);
  bool claim_in_use(const std::string& namespace_, const std::string& name);
  /// Claims that were only waiting for a Pod that is gone now.
  void release_claims(const std::string& namespace_);
  void after_write(const Kind& kind, const Json* object, const std::string& name);
  void finish_crd(const std::string& name);
  void load_crds();
  void make_first_objects();

  // Subresources.
  Result<Json> run_subresource(const Kind& kind, kube::Request& request, Context& context);
  Result<Json> bind(const kube::Request& request, Context& context);
  Result<Json> scale(const Kind& kind, kube::Request& request, Context& context);
  Result<Json> finalize_namespace(const Kind& kind, kube::Request& request, Context& context);
  Result<Json> evict(const Kind& kind, kube::Request& request, Context& context);
  Result<Json> create_token(const Kind& kind, kube::Request& request, Context& context);
  std::optional<Result<Json>> review(const Kind& kind, kube::Request& request, Context& context);

  Loop& loop_;
  Random& random_;
  Store& store_;
  ApiServerOptions options_;
  std::shared_ptr<const SharedTypes> types_;
  Kinds kinds_;  // the shared ones, and what was defined here
  WatchHub hub_;
  std::map<std::string, std::int64_t> crd_generations_ = {};  // as compiled, by CRD name
  std::set<std::string> going_crds_ = {};                     // that are being deleted
  bool finishing_crd_ = false;
};

/// `metadata` of an object, made when missing.
JsonObject& metadata_of(Json& object);

}  // namespace manta::local
