#include "local/controllers/garbage_collector.h"

#include "base/log.h"
#include "kube/cache.h"
#include "local/controllers/discovery.h"
#include "local/controllers/owner_graph.h"
#include "local/controllers/views.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace manta::local {
namespace {

constexpr Duration kFirstRetry = std::chrono::milliseconds{20};
constexpr Duration kLongestRetry = std::chrono::seconds{30};
constexpr Duration kDiscoveryRetry = std::chrono::seconds{1};
constexpr std::size_t kAbsentRemembered = 1000;
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

/// Events own nothing and nothing owns them; they would be most of the graph.
bool is_collected(const kube::Resource& resource) { return resource.plural != "events"; }

Result<NamespaceView> project_meta(const Json& object) { return project_namespace(object); }

JsonObject without_finalizer(const Json& object, std::string_view name) {
  JsonArray rest;
  for (const auto& finalizer : array_at(object, {"metadata", "finalizers"}))
    if (finalizer.is_string() && finalizer.as_string() != name) rest.push_back(finalizer);
  return {{"metadata",
           JsonObject{{"finalizers", std::move(rest)},
                      {"resourceVersion", string_at(object, {"metadata", "resourceVersion"})},
                      {"uid", string_at(object, {"metadata", "uid"})}}}};
}

JsonObject without_owners(const Json& object, const std::vector<std::string>& uids) {
  JsonArray rest;
  for (const auto& owner : array_at(object, {"metadata", "ownerReferences"}))
    if (std::ranges::find(uids, string_at(owner, {"uid"})) == uids.end()) rest.push_back(owner);
  return {{"metadata",
           JsonObject{{"ownerReferences", std::move(rest)},
                      {"resourceVersion", string_at(object, {"metadata", "resourceVersion"})},
                      {"uid", string_at(object, {"metadata", "uid"})}}}};
}

}  // namespace

struct GarbageCollector::Impl {
  using MetaCache = kube::Cache<NamespaceView>;

  Impl(Loop& l, kube::Api& a, Random& r) : loop(l), api(a), random(r), wake(l), crds_changed(l) {}

  Loop& loop;
  kube::Api& api;
  Random& random;
  OwnerGraph graph = {};
  std::map<kube::Resource, std::unique_ptr<MetaCache>> caches = {};
  std::vector<kube::Resource> served = {};
  std::deque<std::string> queue = {};
  std::set<std::string> queued = {};
  std::map<std::string, int> attempts = {};
  std::set<std::string> absent = {};  // owner uids; a uid never comes back
  OneShot<bool> wake;
  OneShot<bool> crds_changed;
  bool working = false;
  bool rediscover = false;

  void enqueue(const std::string& uid) {
    if (uid.empty() || !queued.insert(uid).second) return;
    queue.push_back(uid);
    wake.set(true);
  }

  void observe(const kube::Resource& resource, const kube::ObjectMeta* before,
               const kube::ObjectMeta* after) {
    if (resource == kube::kCustomResourceDefinitions) {
      rediscover = true;
      crds_changed.set(true);
    }
    // Deleted and made anew under one name between two lists: two objects.
    if (before != nullptr && (after == nullptr || after->uid != before->uid)) forget(before->uid);
    if (after == nullptr) return;
    const auto* old = graph.find(after->uid);
    GraphNode node{.resource = resource,
                   .key = after->key,
                   .uid = after->uid,
                   .owners = after->owners,
                   .deleting = after->deleting.has_value(),
                   .foreground = after->has_finalizer(kForeground),
                   .orphan = after->has_finalizer(kOrphan)};
    const bool same = old != nullptr && old->owners == node.owners &&
                      old->deleting == node.deleting && old->foreground == node.foreground &&
                      old->orphan == node.orphan;
    if (same) return;
    const bool starts_waiting = node.deleting;
    const bool concerns_us = !node.owners.empty() || node.deleting;
    graph.put(std::move(node));
    if (concerns_us) enqueue(after->uid);
    if (starts_waiting) {
      for (const auto* dependent : graph.dependents(after->uid)) enqueue(dependent->uid);
      for (const auto& owner : after->owners) enqueue(owner.uid);
    }
  }

  void forget(const std::string& uid) {
    const auto* node = graph.find(uid);
    if (node == nullptr) return;
    if (absent.size() >= kAbsentRemembered) absent.clear();
    absent.insert(uid);
    attempts.erase(uid);
    const auto owners = node->owners;
    for (const auto* dependent : graph.dependents(uid)) enqueue(dependent->uid);
    graph.erase(uid);
    for (const auto& owner : owners) enqueue(owner.uid);  // one may wait for this
  }

  /// The resource of an owner reference: by kind in its group, at whatever version is served.
  const kube::Resource* resource_of(const kube::OwnerRef& owner) const {
    const auto slash = owner.apiVersion.find('/');
    const auto group = slash == std::string::npos ? "" : owner.apiVersion.substr(0, slash);
    const auto found = std::ranges::find_if(served, [&](const kube::Resource& resource) {
      return resource.group == group && resource.kind == owner.kind;
    });
    return found == served.end() ? nullptr : &*found;
  }

  Task<Result<OwnerState>> state_of(GraphNode node, kube::OwnerRef owner) {
    if (absent.contains(owner.uid)) co_return OwnerState::Absent;
    if (const auto* found = graph.find(owner.uid)) {
      // A cluster-scoped object has no namespace in which to look for its owner.
      if (!found->key.namespace_.empty() && found->key.namespace_ != node.key.namespace_)
        co_return OwnerState::Unknown;
      co_return found->waits_for_dependents() ? OwnerState::Waiting : OwnerState::Present;
    }
    const auto* resource = resource_of(owner);
    if (resource == nullptr || (resource->namespaced && node.key.namespace_.empty()))
      co_return OwnerState::Unknown;
    // Our picture may be behind: only the server's own word makes an owner absent.
    auto live = co_await api.get(
        *resource, {resource->namespaced ? node.key.namespace_ : std::string(), owner.name});
    if (!live && live.error().code != ErrorCode::NotFound) co_return failed(live.error());
    if (live && string_at(*live, {"metadata", "uid"}) == owner.uid) co_return OwnerState::Present;
    absent.insert(owner.uid);
    co_return OwnerState::Absent;
  }

  /// Reads the object, and patches it when it is still the one we mean.
  template <class Change>
  Task<Result<void>> patch(GraphNode node, Change change) {
    auto live = co_await api.get(node.resource, node.key);
    if (!live && live.error().code == ErrorCode::NotFound) co_return Result<void>{};
    if (!live) co_return failed(live.error());
    if (string_at(*live, {"metadata", "uid"}) != node.uid) co_return Result<void>{};
    auto answer =
        co_await api.patch(node.resource, node.key, kube::PatchType::Merge, change(*live));
    if (!answer && answer.error().code != ErrorCode::NotFound) co_return failed(answer.error());
    co_return Result<void>{};
  }

  Task<Result<void>> remove(GraphNode node, kube::Propagation propagation) {
    kube::Request request{.verb = kube::Verb::Delete,
                          .resource = node.resource,
                          .namespace_ = node.key.namespace_,
                          .name = node.key.name,
                          .precondition_uid = node.uid,
                          .propagation = propagation};
    auto answer = co_await api.call(std::move(request));
    if (answer || answer.error().code == ErrorCode::NotFound ||
        answer.error().code == ErrorCode::Conflict)
      co_return Result<void>{};
    co_return failed(answer.error());
  }

  Task<Result<void>> orphan_dependents(GraphNode node, std::vector<GraphNode> dependents) {
    for (auto& dependent : dependents) {
      auto done = co_await patch(
          std::move(dependent), [&](const Json& live) { return without_owners(live, {node.uid}); });
      if (!done) co_return done;
    }
    co_return co_await patch(node,
                             [](const Json& live) { return without_finalizer(live, kOrphan); });
  }

  Task<Result<void>> carry_out(GraphNode node, Collection collection,
                               std::vector<GraphNode> dependents) {
    using Action = Collection::Action;
    switch (collection.action) {
      case Action::Keep:
        break;
      case Action::Delete:
        log::info("collecting an object without owner",
                  {{"kind", node.resource.kind}, {"object", node.key.to_string()}});
        co_return co_await remove(std::move(node), collection.propagation);
      case Action::DropReferences: {
        auto uids = collection.owner_uids;
        co_return co_await patch(std::move(node),
                                 [uids](const Json& live) { return without_owners(live, uids); });
      }
      case Action::DeleteDependents:
        for (const auto& dependent : dependents) enqueue(dependent.uid);
        break;
      case Action::OrphanDependents:
        co_return co_await orphan_dependents(std::move(node), std::move(dependents));
      case Action::FinishForeground:
        co_return co_await patch(
            std::move(node), [](const Json& live) { return without_finalizer(live, kForeground); });
    }
    co_return Result<void>{};
  }

  Task<Result<void>> process(std::string uid) {
    const auto* found = graph.find(uid);
    if (found == nullptr) co_return Result<void>{};
    const GraphNode node = *found;
    std::vector<OwnerState> states;
    if (!node.deleting) {
      for (const auto& owner : node.owners) {
        auto state = co_await state_of(node, owner);
        if (!state) co_return failed(state.error());
        states.push_back(*state);
      }
    }
    auto collection = decide_collection(node, states, graph.dependents(uid));
    std::vector<GraphNode> dependents;  // by value: the graph changes while we wait
    dependents.reserve(collection.dependents.size());
    for (const auto* dependent : collection.dependents) dependents.push_back(*dependent);
    collection.dependents.clear();
    co_return co_await carry_out(node, std::move(collection), std::move(dependents));
  }

  void retry_later(const std::string& uid, const Error& error) {
    const int attempt = attempts[uid]++;
    auto wait = kFirstRetry;
    for (int i = 0; i < attempt && wait < kLongestRetry; ++i) wait *= 2;
    if (attempt >= 3)  // conflicts are everyday
      log::warn("garbage collection of an object failed, will retry",
                {{"uid", uid}, {"error", error.message}});
    auto id = std::make_shared<Loop::TimerId>();
    *id = loop.after(std::min(wait, kLongestRetry), [this, uid, id] {
      timers.erase(*id);
      enqueue(uid);
    });
    timers.insert(*id);
  }
  std::set<Loop::TimerId> timers = {};

  Task<void> work(std::stop_token stop) {
    while (!stop.stop_requested()) {
      if (queue.empty()) {
        working = false;
        wake = OneShot<bool>(loop);
        if (queue.empty() && !stop.stop_requested()) co_await wake;
        continue;
      }
      working = true;
      auto uid = std::move(queue.front());
      queue.pop_front();
      queued.erase(uid);
      auto done = co_await process(uid);
      if (done)
        attempts.erase(uid);
      else if (!stop.stop_requested())
        retry_later(uid, done.error());
    }
  }

  /// Starts a cache for each resource not yet watched. Caches of CRDs that have gone stay: they
  /// list again with back-off and are empty.
  void watch_new(Scope& scope) {
    for (const auto& resource : served) {
      if (!is_collected(resource) || caches.contains(resource)) continue;
      auto cache = std::make_unique<MetaCache>(resource, project_meta);
      cache->listen([this, resource](const auto* before, const auto* after) {
        observe(resource, before, after);
      });
      scope.spawn("watch " + resource.plural,
                  kube::reflect(loop, api, *cache, random, scope.stop_token()));
      caches.emplace(resource, std::move(cache));
    }
  }

  Task<void> follow_discovery(Scope& scope, std::stop_token stop) {
    while (!stop.stop_requested()) {
      rediscover = false;
      auto resources = co_await discover(api);
      if (resources) {
        served = std::move(*resources);
        watch_new(scope);
      } else {
        log::warn("cannot discover resources, will retry", {{"error", resources.error().message}});
        rediscover = true;
      }
      if (!rediscover && !stop.stop_requested()) {
        crds_changed = OneShot<bool>(loop);
        co_await crds_changed;
      }
      // A new CRD is served a moment after it appears.
      if (!co_await sleep(loop, kDiscoveryRetry, stop)) co_return;
    }
  }
};

GarbageCollector::GarbageCollector(Loop& loop, kube::Api& api, Random& random)
    : impl_(std::make_unique<Impl>(loop, api, random)) {}
GarbageCollector::~GarbageCollector() = default;

Task<void> GarbageCollector::run(std::stop_token stop) {
  auto& self = *impl_;
  Scope scope(self.loop);
  std::stop_callback forward(stop, [&] {
    scope.request_stop();
    self.wake.set(true);
    self.crds_changed.set(true);
  });
  scope.spawn("discover", self.follow_discovery(scope, scope.stop_token()));
  co_await self.work(scope.stop_token());
  scope.request_stop();
  co_await scope.join();
  for (const auto timer : self.timers) self.loop.cancel(timer);
  self.timers.clear();
}

bool GarbageCollector::idle() const { return impl_->queue.empty() && !impl_->working; }

}  // namespace manta::local
