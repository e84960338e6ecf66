// Caches: small typed projections of what the API server holds, ordered by resourceVersion, that also
// take in the answers to our own writes. A plan never sees a world older than its own last write.
//
//   Cache<PodView> pods(kPods, project_pod, {.label_selector = "ray.io/node-type"});
//   caches.add(pods);                    // CacheSet: writes find their cache by resource
//   scope.spawn("pods", reflect(loop, api, pods, scope.stop_token()));
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/async.h"
#include "kube/api.h"
#include "kube/object.h"

namespace manta::kube {

struct CacheScope {
  std::string namespace_ = {};  // empty: all
  std::string label_selector = {};
  std::string field_selector = {};
};

/// A cache without its view's type: what reflectors feed and the runtime writes through.
class CacheBase {
 public:
  /// `before` and `after` are null on creation and on removal.
  using Listener = std::function<void(const ObjectMeta* before, const ObjectMeta* after)>;

  CacheBase(Resource resource, CacheScope scope);
  virtual ~CacheBase() = default;
  CacheBase(const CacheBase&) = delete;
  CacheBase& operator=(const CacheBase&) = delete;

  const Resource& resource() const { return resource_; }
  const CacheScope& scope() const { return scope_; }
  /// True once a first complete list is in.
  bool synced() const { return synced_; }

  /// An object from a watch event or from a write's answer. Older than what is held, or of a uid
  /// known to be gone: ignored. Outside the scope (labels changed): as if deleted. One that cannot be
  /// projected is logged and ignored.
  void observe(const Json& object);
  /// It is gone: from a DELETED event, or a delete's answer. Later news of this uid are ignored.
  void observe_gone(const ObjectKey& key, std::string_view uid);
  /// Takes a complete list as of `resource_version`: what is missing from it and not newer is gone.
  void begin_replace();
  void replace_item(const Json& object);
  void end_replace(std::uint64_t resource_version);

  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

 protected:
  virtual bool store(const Json& object) = 0;  // project and keep; false: cannot be projected
  virtual void erase(const ObjectKey& key) = 0;
  virtual const ObjectMeta* meta(const ObjectKey& key) const = 0;
  virtual std::vector<ObjectKey> keys() const = 0;
  void notify(const ObjectMeta* before, const ObjectMeta* after);

 private:
  Resource resource_;
  CacheScope scope_;
  LabelSelector selector_ = {};
  bool synced_ = false;
  std::vector<Listener> listeners_ = {};
  std::set<std::string, std::less<>> gone_uids_ = {};
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
    return found == views_.end() ? nullptr : found->second;
  }
  /// By name order. Cost: the namespace's objects.
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

 protected:
  bool store(const Json& object) override;
  void erase(const ObjectKey& key) override;
  const ObjectMeta* meta(const ObjectKey& key) const override;
  std::vector<ObjectKey> keys() const override;

 private:
  using Index = std::map<std::string, std::set<ObjectKey>, std::less<>>;
  void unindex(const V& view);
  void index(const V& view);
  std::vector<Ptr> pick(const Index& index, std::string_view value,
                        std::string_view namespace_) const;

  Project project_;
  std::map<ObjectKey, Ptr> views_ = {};
  Index owners_ = {};
  std::map<std::string, Index, std::less<>> labels_ = {};
};

/// Finds a resource's cache, so that the answer to any write lands in it.
class CacheSet {
 public:
  void add(CacheBase& cache);
  void observe(const Resource& resource, const Json& object) const;
  void observe_gone(const Resource& resource, const ObjectKey& key, std::string_view uid) const;
  bool synced() const;
  const std::vector<CacheBase*>& all() const { return caches_; }

 private:
  std::vector<CacheBase*> caches_ = {};
};

/// Keeps one cache equal to the API server until stopped: lists by pages, watches with bookmarks,
/// resumes, lists again on Expired, backs off with jitter on failure.
Task<void> reflect(Loop& loop, Api& api, CacheBase& cache, Random& random, std::stop_token stop);

}  // namespace manta::kube

#include "kube/cache_inl.h"  // IWYU pragma: keep
