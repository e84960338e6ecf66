#include "kube/feed.h"

namespace manta::kube {

Feed::Feed(CacheBase& target, ObjectKey key)
    : CacheBase(target.resource(),
                {.namespace_ = key.namespace_, .field_selector = "metadata.name=" + key.name}),
      target_(target),
      key_(std::move(key)) {}

std::shared_ptr<const ObjectMeta> Feed::meta(const ObjectKey& key) const {
  return key == key_ ? target_.meta(key) : nullptr;
}

std::vector<ObjectKey> Feed::keys() const {
  return target_.meta(key_) ? std::vector{key_} : std::vector<ObjectKey>();
}

bool Feed::store(const Json& object) {
  target_.observe(object);
  return target_.meta(key_) != nullptr;
}

void Feed::erase(const ObjectKey& key) {
  if (const auto held = target_.meta(key)) target_.observe_gone(key, held->uid);
}

}  // namespace manta::kube
