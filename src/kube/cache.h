// Caches: small typed projections of what the API server holds, ordered by resourceVersion, that
// also take in the answers to our own writes. A plan never sees a world older than its own last
// write.
//
//   Cache<PodView> pods(kPods, project_pod, {.label_selector = "ray.io/node-type"});
//   caches.add(pods);                    // CacheSet: writes find their cache by resource
//   scope.spawn("pods", reflect(loop, api, pods, random, scope.stop_token()));
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "kube/api.h"
#include "kube/object.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace manta::kube {

struct CacheScope {
  std::string namespace_ = {};  // empty: all
  std::string label_selector = {};
  std::string field_selector = {};
  /// While the server does not serve the resource, or refuses it to us time and again, the cache
  /// counts as synced and empty: nobody waits for it.
  bool may_be_missing = false;
  /// Followed by whoever needs it, when he does: CacheSet::synced() does not wait for it.
  bool on_demand = false;
};

/// A cache without its view's type: what reflectors feed and the runtime writes through.
class CacheBase {
 public:
  /// `before` is null on creation, `after` on removal. An object that was made again under its name
  /// is a removal, then a creation.
  using Listener = std::function<void(const ObjectMeta* before, const ObjectMeta* after)>;

  /// CHECKs that the scope's selectors can be read: they are ours, not a user's.
  CacheBase(Resource resource, CacheScope scope);
  virtual ~CacheBase() = default;
  CacheBase(const CacheBase&) = delete;
  CacheBase& operator=(const CacheBase&) = delete;

  const Resource& resource() const { return resource_; }
  const CacheScope& scope() const { return scope_; }
  /// True once a complete list is in: the first, or the one that refresh() asked for.
  bool synced() const { return synced_; }
  /// Calls back when synced() becomes true, or at once when it is.
  void when_synced(std::function<void()> callback);

  /// What is held may be behind: asks whoever follows the resource for a complete list anew.
  void refresh();
  /// Called by refresh(); empty: nobody follows it.
  void on_refresh(std::function<void()> list_anew) { list_anew_ = std::move(list_anew); }

  /// An object from a watch event or from a write's answer. Older than what is held, or of a uid
  /// known to be gone: ignored. Outside the scope (labels changed): as if deleted. One that cannot
  /// be projected is logged and ignored.
  void observe(const Json& object);
  /// It is gone: from a DELETED event, or a delete's answer. Later news of this uid are ignored:
  /// all, or (`as_of` given, as a DELETED event may mean that it only left the scope) those not
  /// newer. No uid: whatever is held under this key.
  void observe_gone(const ObjectKey& key, std::string_view uid, std::uint64_t as_of = 0);
  /// A complete list of one namespace (empty: all) and selector: what it misses and is not newer is
  /// gone. Leaves the rest alone.
  void observe_list(std::string_view namespace_, const LabelSelector& selector, const Json& list);
  /// Takes a complete list as of `resource_version`: what is missing from it and not newer is gone.
  void begin_replace();
  void replace_item(const Json& object);
  void end_replace(std::uint64_t resource_version);

  /// Objects that this refuses are not held, as if they were outside the scope; those that it does
  /// not mind any more are taken in at their next change. A list of a million that are not ours
  /// costs no memory then. Before the first object arrives.
  void keep_only(std::function<bool(const Json& object)> wanted) { wanted_ = std::move(wanted); }
  /// Holds it no longer, though it may be there still: nobody follows it any more.
  void forget(const ObjectKey& key);

  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

  /// The metadata held, or null.
  virtual std::shared_ptr<const ObjectMeta> meta(const ObjectKey& key) const = 0;
  virtual std::vector<ObjectKey> keys() const = 0;

 protected:
  virtual bool store(const Json& object) = 0;  // project and keep; false: cannot be projected
  virtual void erase(const ObjectKey& key) = 0;
  void report_unreadable(const Json& object, const Error& error) const;

 private:
  struct FieldTerm {
    std::vector<std::string> path;
    std::string value;
    bool equal;
  };
  bool in_scope(const Json& object) const;
  bool is_buried(const ObjectKey& key, std::string_view uid, std::uint64_t resource_version) const;
  void bury(const ObjectKey& key, std::string_view uid, std::uint64_t as_of);
  void remember_gone(std::uint64_t what, std::uint64_t as_of);
  void remove(const ObjectKey& key, const std::shared_ptr<const ObjectMeta>& held);
  void notify(const ObjectMeta* before, const ObjectMeta* after) const;

  Resource resource_;
  CacheScope scope_;
  LabelSelector selector_ = {};
  std::vector<FieldTerm> fields_ = {};
  std::function<bool(const Json&)> wanted_ = {};
  bool synced_ = false;
  std::uint64_t refreshes_ = 0;
  std::uint64_t replaces_for_ = 0;  // of which the list that comes in knows
  std::function<void()> list_anew_ = {};
  std::vector<Listener> listeners_ = {};
  std::vector<std::function<void()>> sync_waiters_ = {};
  // What is known to be gone, by a hash of its uid: as of which revision; and by a hash of its key:
  // what has it at that revision or before is a predecessor. The newest kGoneKept.
  std::unordered_map<std::uint64_t, std::uint64_t> gone_ = {};
  std::deque<std::uint64_t> gone_order_ = {};
  std::set<ObjectKey> replace_seen_ = {};
};

/// V is a struct with a member `ObjectMeta meta`. Views are shared and immutable: a snapshot keeps
/// the ones it saw.
template <class V>
class Cache final : public CacheBase {
 public:
  using Ptr = std::shared_ptr<const V>;
  using Project = Result<V> (*)(const Json& object);

  Cache(Resource resource, Project project, CacheScope scope = {})
      : CacheBase(std::move(resource), std::move(scope)), project_(project) {}

  Ptr get(const ObjectKey& key) const {
    auto found = views_.find(key);
    return found == views_.end() ? nullptr : *found;
  }
  /// By name order; an empty namespace is all of them. Cost: the namespace's objects.
  std::vector<Ptr> list(std::string_view namespace_, const LabelSelector& selector = {}) const;
  /// Those whose controller owner has this uid, by name order. Cost: the answer's size.
  std::vector<Ptr> owned_by(std::string_view uid) const;
  /// Those with labels[label] == value, by name order. Cost: the answer's size; the label must have
  /// been given to index_label().
  std::vector<Ptr> labelled(std::string_view namespace_, std::string_view label,
                            std::string_view value) const;
  /// Before the first object arrives.
  void index_label(std::string label) { labels_[std::move(label)]; }
  std::size_t size() const { return views_.size(); }

  std::shared_ptr<const ObjectMeta> meta(const ObjectKey& key) const override;
  std::vector<ObjectKey> keys() const override;

 protected:
  bool store(const Json& object) override;
  void erase(const ObjectKey& key) override;

 private:
  // Sets of views, compared by key: a key is held once, inside its view.
  struct ByKey {
    using is_transparent = void;
    static const ObjectKey& key(const Ptr& view) { return view->meta.key; }
    static const ObjectKey& key(const ObjectKey& key) { return key; }
    bool operator()(const auto& left, const auto& right) const { return key(left) < key(right); }
  };
  using Views = std::set<Ptr, ByKey>;
  using Index = std::map<std::string, Views, std::less<>>;
  static void unindex(Index& index, std::string_view value, const Ptr& view);
  void unindex(const Ptr& view);
  void index(const Ptr& view);
  static std::vector<Ptr> pick(const Views& views, std::string_view namespace_,
                               const LabelSelector& selector);

  Project project_;
  Views views_ = {};
  Index owners_ = {};
  std::map<std::string, Index, std::less<>> labels_ = {};
};

/// Calls back when each of them has been synced since, though one may be asked anew meanwhile; at
/// once when there is none.
void when_all_synced(const std::vector<CacheBase*>& caches, std::function<void()> callback);

/// Finds a resource's cache, so that the answer to any write lands in it.
class CacheSet {
 public:
  void add(CacheBase& cache);
  void observe(const Resource& resource, const Json& object) const;
  void observe_gone(const Resource& resource, const ObjectKey& key, std::string_view uid) const;
  void observe_list(const Resource& resource, std::string_view namespace_,
                    const LabelSelector& selector, const Json& list) const;
  /// The metadata held of an object, or null.
  std::shared_ptr<const ObjectMeta> meta(const Resource& resource, const ObjectKey& key) const;
  bool synced() const;
  void refresh() const;  // but for those on demand
  const std::vector<CacheBase*>& all() const { return caches_; }

 private:
  std::vector<CacheBase*> caches_ = {};
};

/// Keeps one cache equal to the API server until stopped: lists by pages, watches with bookmarks,
/// resumes, lists again on Expired, backs off with jitter on failure.
Task<void> reflect(Loop& loop, Api& api, CacheBase& cache, Random& random, std::stop_token stop);

}  // namespace manta::kube

#include "kube/cache_inl.h"  // IWYU pragma: keep
