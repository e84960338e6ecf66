// A cache that holds a few single objects, which others name: each is followed by a list and a
// watch of that name alone, so that what is not named costs nothing.
//
//   Cache<SecretView> secrets(kSecrets, project_secret, {.on_demand = true});
//   Feed token(secrets, {"default", "token"});
//   scope.spawn("token", reflect(loop, api, token, random, stop));
//   token.synced();                      // whether secrets.get({"default", "token"}) is an answer
#pragma once

#include "kube/cache.h"

namespace manta::kube {

/// What reflect() takes for a cache, and passes on to another: one object of `target`'s resource.
/// The target outlives it, and is told to forget() the object when nobody follows it any more.
class Feed final : public CacheBase {
 public:
  Feed(CacheBase& target, ObjectKey key);

  std::shared_ptr<const ObjectMeta> meta(const ObjectKey& key) const override;
  std::vector<ObjectKey> keys() const override;

 protected:
  bool store(const Json& object) override;
  void erase(const ObjectKey& key) override;

 private:
  CacheBase& target_;
  ObjectKey key_;
};

}  // namespace manta::kube
