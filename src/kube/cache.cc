#include "kube/cache.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace manta::kube {
namespace {

constexpr std::uint64_t kForGood = std::numeric_limits<std::uint64_t>::max();
// Late news of an object that is gone come from requests in flight and from a list that began
// before: some thousands at most. Two records an object; 65536 are 3 MB.
constexpr std::size_t kGoneKept = 65536;

struct Identity {
  ObjectKey key;
  std::string_view uid;
  std::uint64_t resource_version = 0;
};

std::uint64_t parse_revision(std::string_view text) {
  std::uint64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

Identity identify(const Json& object) {
  return {key_of(object), string_at(object, {"metadata", "uid"}),
          parse_revision(string_at(object, {"metadata", "resourceVersion"}))};
}

StringMap labels_of(const Json& object) {
  StringMap labels;
  for (const auto& [key, value] : object_at(object, {"metadata", "labels"}))
    if (value.is_string()) labels.emplace(key, std::string_view(value.get_string()));
  return labels;
}

// Field selectors compare text; an absent field reads as "", a number or a boolean as it prints.
std::string field_text(const Json& object, const std::vector<std::string>& path) {
  const Json* value = &object;
  for (const auto& step : path) {
    value = find(*value, {std::string_view(step)});
    if (!value) return {};
  }
  if (value->is_null()) return {};
  return value->is_string() ? std::string(value->get_string()) : dump_json(*value);
}

}  // namespace

CacheBase::CacheBase(Resource resource, CacheScope scope)
    : resource_(std::move(resource)), scope_(std::move(scope)) {
  auto selector = LabelSelector::parse(scope_.label_selector);
  MANTA_CHECK(selector.has_value());
  selector_ = std::move(*selector);
  if (scope_.field_selector.empty()) return;
  for (const auto& term : split(scope_.field_selector, ',')) {
    const auto equals = term.find('=');
    MANTA_CHECK(equals != std::string::npos && equals > 0);
    const bool equal = term[equals - 1] != '!';
    const auto value = term.find_first_not_of('=', equals);
    fields_.push_back({split(term.substr(0, equal ? equals : equals - 1), '.'),
                       value == std::string::npos ? "" : term.substr(value), equal});
  }
}

void CacheBase::when_synced(std::function<void()> callback) {
  if (synced_) return callback();
  sync_waiters_.push_back(std::move(callback));
}

void CacheBase::observe(const Json& object) {
  const Identity seen = identify(object);
  if (seen.key.name.empty()) return report_unreadable(object, {.message = "it has no name"});
  if (!scope_.namespace_.empty() && seen.key.namespace_ != scope_.namespace_) return;
  if (is_buried(seen.key, seen.uid, seen.resource_version)) return;

  auto held = meta(seen.key);
  if (held && seen.resource_version <= held->resource_version) {
    // A predecessor under the same name; only what is older can be one.
    if (held->uid != seen.uid) remember_gone(fnv1a64(seen.uid), kForGood);
    return;
  }
  if (held && held->uid != seen.uid) {
    bury(seen.key, held->uid, kForGood);
    remove(seen.key, std::exchange(held, nullptr));
  }
  if (!held && wanted_ && !wanted_(object)) return;  // nothing of it came before, or comes late
  if (!in_scope(object)) {
    bury(seen.key, seen.uid, seen.resource_version);
    if (held) remove(seen.key, held);
    return;
  }
  if (!store(object)) return;
  notify(held.get(), meta(seen.key).get());
}

void CacheBase::observe_gone(const ObjectKey& key, std::string_view uid, std::uint64_t as_of) {
  if (as_of == 0) as_of = kForGood;
  const auto held = meta(key);
  if (uid.empty() && !held) return;
  bury(key, uid.empty() ? held->uid : uid, as_of);
  if (!held || (!uid.empty() && held->uid != uid) || held->resource_version > as_of) return;
  remove(key, held);
}

void CacheBase::observe_list(std::string_view namespace_, const LabelSelector& selector,
                             const Json& list) {
  std::set<ObjectKey> listed;
  for (const auto& item : array_at(list, {"items"})) {
    listed.insert(key_of(item));
    observe(item);
  }
  const auto as_of = parse_revision(string_at(list, {"metadata", "resourceVersion"}));
  for (const auto& key : keys()) {
    if ((!namespace_.empty() && key.namespace_ != namespace_) || listed.contains(key)) continue;
    const auto held = meta(key);
    if (held->resource_version > as_of || !selector.matches(held->labels)) continue;
    bury(key, held->uid, as_of);
    remove(key, held);
  }
}

void CacheBase::refresh() {
  ++refreshes_;
  synced_ = false;
  if (list_anew_) list_anew_();
}

void CacheBase::begin_replace() {
  replace_seen_.clear();
  replaces_for_ = refreshes_;
}

void CacheBase::replace_item(const Json& object) {
  observe(object);
  auto key = key_of(object);
  if (meta(key)) replace_seen_.insert(std::move(key));  // what is not held cannot be missed
}

void CacheBase::forget(const ObjectKey& key) {
  if (const auto held = meta(key)) remove(key, held);
}

void CacheBase::end_replace(std::uint64_t resource_version) {
  for (const auto& key : keys()) {
    if (replace_seen_.contains(key)) continue;
    const auto held = meta(key);
    // Newer than the list: made or written by us while the list was on its way.
    if (!held || held->resource_version > resource_version) continue;
    bury(key, held->uid, resource_version);
    remove(key, held);
  }
  replace_seen_.clear();
  if (replaces_for_ != refreshes_) return;  // it began before somebody asked
  synced_ = true;
  for (auto& callback : std::exchange(sync_waiters_, {})) callback();
}

void CacheBase::report_unreadable(const Json& object, const Error& error) const {
  log::error("ignored an object that cannot be read", {{"resource", resource_.plural},
                                                       {"object", key_of(object).to_string()},
                                                       {"error", error.message}});
}

bool CacheBase::in_scope(const Json& object) const {
  if (wanted_ && !wanted_(object)) return false;
  if (!selector_.empty() && !selector_.matches(labels_of(object))) return false;
  for (const auto& term : fields_)
    if ((field_text(object, term.path) == term.value) != term.equal) return false;
  return true;
}

static std::uint64_t hash_of(const ObjectKey& key) { return fnv1a64("key " + key.to_string()); }

bool CacheBase::is_buried(const ObjectKey& key, std::string_view uid,
                          std::uint64_t resource_version) const {
  if (gone_.empty()) return false;
  for (const auto what : {fnv1a64(uid), hash_of(key)})
    if (const auto found = gone_.find(what);
        found != gone_.end() && resource_version <= found->second)
      return true;
  return false;
}

void CacheBase::bury(const ObjectKey& key, std::string_view uid, std::uint64_t as_of) {
  remember_gone(fnv1a64(uid), as_of);
  // Whatever else had this name had it before what we held of it.
  const auto held = meta(key);
  if (as_of == kForGood) as_of = held ? held->resource_version : 0;
  remember_gone(hash_of(key), as_of);
}

void CacheBase::remember_gone(std::uint64_t what, std::uint64_t as_of) {
  const auto [entry, added] = gone_.try_emplace(what, as_of);
  if (!added) {
    entry->second = std::max(entry->second, as_of);
    return;
  }
  gone_order_.push_back(what);
  if (gone_order_.size() <= kGoneKept) return;
  gone_.erase(gone_order_.front());
  gone_order_.pop_front();
}

void CacheBase::remove(const ObjectKey& key, const std::shared_ptr<const ObjectMeta>& held) {
  erase(key);
  notify(held.get(), nullptr);
}

void CacheBase::notify(const ObjectMeta* before, const ObjectMeta* after) const {
  for (const auto& listener : listeners_) listener(before, after);
}

void CacheSet::add(CacheBase& cache) { caches_.push_back(&cache); }

// Versions of one resource are the same objects.
static bool same_objects(const CacheBase* cache, const Resource& resource) {
  return cache->resource().group == resource.group && cache->resource().plural == resource.plural;
}

void CacheSet::observe(const Resource& resource, const Json& object) const {
  for (auto* cache : caches_)
    if (same_objects(cache, resource)) cache->observe(object);
}

void CacheSet::observe_gone(const Resource& resource, const ObjectKey& key,
                            std::string_view uid) const {
  for (auto* cache : caches_)
    if (same_objects(cache, resource)) cache->observe_gone(key, uid);
}

void CacheSet::observe_list(const Resource& resource, std::string_view namespace_,
                            const LabelSelector& selector, const Json& list) const {
  for (auto* cache : caches_)
    if (same_objects(cache, resource)) cache->observe_list(namespace_, selector, list);
}

std::shared_ptr<const ObjectMeta> CacheSet::meta(const Resource& resource,
                                                 const ObjectKey& key) const {
  for (auto* cache : caches_)
    if (same_objects(cache, resource))
      if (auto held = cache->meta(key)) return held;
  return nullptr;
}

void when_all_synced(const std::vector<CacheBase*>& caches, std::function<void()> callback) {
  if (caches.empty()) return callback();
  const auto left = std::make_shared<std::size_t>(caches.size());
  for (auto* cache : caches)
    cache->when_synced([left, callback] {
      if (--*left == 0) callback();
    });
}

void CacheSet::refresh() const {
  for (auto* cache : caches_)
    if (!cache->scope().on_demand) cache->refresh();
}

bool CacheSet::synced() const {
  for (const auto* cache : caches_)
    if (!cache->synced() && !cache->scope().on_demand) return false;
  return true;
}

}  // namespace manta::kube
