// Cache<V>'s member templates; include kube/cache.h instead.
#pragma once

#include "kube/cache.h"

namespace manta::kube {

template <class V>
std::vector<std::shared_ptr<const V>> Cache<V>::pick(const Views& views,
                                                     std::string_view namespace_,
                                                     const LabelSelector& selector) {
  std::vector<Ptr> picked;
  auto view = namespace_.empty() ? views.begin()
                                 : views.lower_bound(ObjectKey{std::string(namespace_), {}});
  for (; view != views.end(); ++view) {
    const ObjectMeta& meta = (*view)->meta;
    if (!namespace_.empty() && meta.key.namespace_ != namespace_) break;
    if (selector.empty() || selector.matches(meta.labels)) picked.push_back(*view);
  }
  return picked;
}

template <class V>
std::vector<std::shared_ptr<const V>> Cache<V>::list(std::string_view namespace_,
                                                     const LabelSelector& selector) const {
  return pick(views_, namespace_, selector);
}

template <class V>
std::vector<std::shared_ptr<const V>> Cache<V>::owned_by(std::string_view uid) const {
  const auto found = owners_.find(uid);
  return found == owners_.end() ? std::vector<Ptr>() : pick(found->second, {}, {});
}

template <class V>
std::vector<std::shared_ptr<const V>> Cache<V>::labelled(std::string_view namespace_,
                                                         std::string_view label,
                                                         std::string_view value) const {
  const auto index = labels_.find(label);
  MANTA_CHECK(index != labels_.end());
  const auto found = index->second.find(value);
  return found == index->second.end() ? std::vector<Ptr>() : pick(found->second, namespace_, {});
}

template <class V>
void Cache<V>::unindex(Index& index, std::string_view value, const Ptr& view) {
  const auto found = index.find(value);
  if (found == index.end()) return;
  found->second.erase(view);
  if (found->second.empty()) index.erase(found);
}

template <class V>
void Cache<V>::unindex(const Ptr& view) {
  if (const auto* owner = view->meta.controller_owner()) unindex(owners_, owner->uid, view);
  for (auto& [label, index] : labels_) {
    const auto value = view->meta.labels.find(label);
    if (value != view->meta.labels.end()) unindex(index, value->second, view);
  }
}

template <class V>
void Cache<V>::index(const Ptr& view) {
  if (const auto* owner = view->meta.controller_owner()) owners_[owner->uid].insert(view);
  for (auto& [label, index] : labels_) {
    const auto value = view->meta.labels.find(label);
    if (value != view->meta.labels.end()) index[value->second].insert(view);
  }
}

template <class V>
bool Cache<V>::store(const Json& object) {
  auto projected = project_(object);
  if (!projected) {
    report_unreadable(object, projected.error());
    return false;
  }
  Ptr view = std::make_shared<const V>(std::move(*projected));
  erase(view->meta.key);
  views_.insert(view);
  index(view);
  return true;
}

template <class V>
void Cache<V>::erase(const ObjectKey& key) {
  const auto found = views_.find(key);
  if (found == views_.end()) return;
  unindex(*found);
  views_.erase(found);
}

template <class V>
std::shared_ptr<const ObjectMeta> Cache<V>::meta(const ObjectKey& key) const {
  auto view = get(key);
  if (!view) return nullptr;
  const ObjectMeta* meta = &view->meta;
  return {std::move(view), meta};
}

template <class V>
std::vector<ObjectKey> Cache<V>::keys() const {
  std::vector<ObjectKey> keys;
  keys.reserve(views_.size());
  for (const auto& view : views_) keys.push_back(view->meta.key);
  return keys;
}

}  // namespace manta::kube
