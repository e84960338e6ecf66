// The REST verbs over the store: what every caller of the embedded API server shares, in process
// and over HTTP. Nothing here waits: one thread, one store, a verb runs to its end.
#pragma once

#include "base/async.h"
#include "base/loop.h"
#include "base/random.h"
#include "kube/api.h"
#include "local/apiserver/api_server.h"
#include "local/apiserver/kinds.h"
#include "local/apiserver/store.h"
#include "local/pod_backend.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

/// What one request learns besides its answer.
struct Context {
  Caller caller = {};
  std::vector<std::string> warnings = {};
  bool created = false;  // HTTP 201
};

/// A page of objects as stored text, in key order. `convert` says that the text is in another
/// version than asked for.
struct ListPage {
  std::vector<SharedText> items = {};
  std::string resource_version = {};
  std::string continue_ = {};
  std::optional<std::int64_t> remaining = {};
};

/// One event of a watch. The text is the object as asked for; `object` the same, parsed once and
/// shared by all watchers.
struct WatchItem {
  kube::WatchEventType type = kube::WatchEventType::Added;
  std::shared_ptr<const Json> object = {};
};

struct WatchOptions {
  bool bookmarks = true;
  bool send_initial = false;  // sendInitialEvents: state first, then a marked bookmark
};

/// Which objects a list or watch wants.
class Selection {
 public:
  /// Refuses fields that the kind cannot be selected by.
  static Result<Selection> parse(const Kind& kind, const std::string& labels,
                                 const std::string& fields);
  bool everything() const { return labels_.empty() && fields_.empty(); }
  bool matches(const Json& object) const;
  /// False only when the text cannot match: a cheap look before parsing.
  bool may_match(std::string_view text) const;
  /// The one name that metadata.name is compared with, if it is.
  std::optional<std::string> only_name() const;

 private:
  struct FieldTerm {
    std::string field;
    std::string value;
    bool equal = true;
  };
  kube::LabelSelector labels_ = {};
  std::vector<FieldTerm> fields_ = {};
  std::vector<std::string> needles_ = {};
};

class Watcher {
 public:
  Watcher(Loop& loop, KindPtr kind, std::string prefix, Selection selection);

  /// The next event; nothing when the stream has ended.
  auto next() { return queue_.next(); }
  void end() { queue_.close(); }
  std::size_t queued() const { return queue_.size(); }
  /// Set when the stream ended for a reason: Expired when the reader was too slow.
  const std::optional<Error>& error() const { return error_; }

 private:
  friend class WatchHub;
  static constexpr std::size_t kMaxQueued = 20'000;

  KindPtr kind_;
  std::string prefix_;
  Selection selection_;
  Channel<WatchItem> queue_;
  std::optional<Error> error_ = {};
  bool bookmarks_ = true;
  Revision told_ = 0;  // the newest revision that the reader knows of
};

/// Hands the store's changes to watchers, each parsed once.
class WatchHub {
 public:
  WatchHub(Loop& loop, Store& store);
  Result<std::shared_ptr<Watcher>> open(KindPtr kind, const kube::WatchRequest& request,
                                        WatchOptions options);
  /// Ends every watch of a kind that is gone or changed.
  void end_all(std::string_view prefix);
  std::size_t size() const;

 private:
  void offer(Watcher& watcher, const StoreChange& change, std::shared_ptr<const Json>& before,
             std::shared_ptr<const Json>& after);
  Result<void> send_state(Watcher& watcher, bool mark_end);

  Loop& loop_;
  Store& store_;
  std::vector<std::weak_ptr<Watcher>> watchers_ = {};
  std::shared_ptr<void> subscription_ = {};
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
  /// A stored object in the version asked for.
  Json to_version(const Kind& kind, Json object) const;
  bool same_version(const Kind& kind) const;

  Result<KindPtr> kind_of(const kube::Resource& resource) const;

  Kinds& kinds() { return kinds_; }
  BuiltinTypes& types() { return types_; }
  WatchHub& hub() { return hub_; }
  Store& store() { return store_; }
  Loop& loop() { return loop_; }
  Random& random() { return random_; }
  const ApiServerOptions& options() const { return options_; }
  PodBackend* backend = nullptr;
  /// Tokens of serviceaccounts/token, by token.
  std::map<std::string, Caller, std::less<>> tokens = {};

  /// The stored object, or none. For strategies.
  Result<std::optional<Json>> read(const Kind& kind, std::string_view namespace_,
                                   std::string_view name);

 private:
  friend Result<Json> apply_patch(Rest& rest, const Kind& kind, const Json* current,
                                  kube::Request& request, Context& context);

  Result<Json> decode(const Kind& kind, const Json& body, const kube::Request& request,
                      Context& context);
  Result<void> check_namespace(const Kind& kind, std::string_view namespace_,
                               std::string_view name);
  Result<void> check_new(const Kind& kind, const Json& object, const Json* old);
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
  BuiltinTypes types_ = {};
  Kinds kinds_;
  WatchHub hub_;
  std::map<std::string, std::int64_t> crd_generations_ = {};  // as compiled, by CRD name
  bool finishing_crd_ = false;
};

/// `metadata` of an object, made when missing.
JsonObject& metadata_of(Json& object);

}  // namespace manta::local
