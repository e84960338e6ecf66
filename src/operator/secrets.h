// The Secrets that RayClusters ask for, and no others. Those that we make have our label and are
// followed together, from the first cluster on that wants one; what users or cert-manager make is
// followed name by name. An installation without token authentication and mTLS never asks for a
// Secret. PF-04, SEC-04
//
//   Secrets secrets(namespace_, clusters, certificates);
//   scope.spawn("secrets", secrets.run(loop, api, random, stop));
//   if (secrets.known(key)) use(secrets.get(key));   // null: there is none
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "kube/cache.h"
#include "kube/feed.h"
#include "kube/views.h"
#include "ray/types.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace manta::operator_ {

class Secrets {
 public:
  /// Listens to `clusters`, which outlives it. `certificates`: clusters with TLS want those, too.
  Secrets(const std::string& namespace_, kube::Cache<ray::RayCluster>& clusters, bool certificates);
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;

  std::shared_ptr<const kube::SecretView> get(const kube::ObjectKey& key) const;
  /// Whether get() is the API server's word by now. False for what no cluster wants.
  bool known(const kube::ObjectKey& key) const;
  /// The same of everything that this cluster wants.
  bool known_to(const kube::ObjectKey& cluster) const;
  /// A Secret that this cluster wants and that the API server has not spoken of for half a minute:
  /// it refuses to, most likely. Nothing: there is none.
  std::optional<kube::ObjectKey> overdue(const kube::ObjectKey& cluster, Time now) const;
  /// The RayClusters that want this Secret.
  std::vector<kube::ObjectKey> wanted_by(const kube::ObjectKey& secret) const;
  /// Called with a cluster when known_to() may have become true.
  void on_known(std::function<void(const kube::ObjectKey& cluster)> callback);

  /// Asks the API server until stopped.
  Task<void> run(Loop& loop, kube::Api& api, Random& random, std::stop_token stop);

  kube::Cache<kube::SecretView> labelled;  // those with our label
  kube::Cache<kube::SecretView> named;     // others, of the names that are followed

 private:
  struct Followed {
    Followed(kube::CacheBase& target, const kube::ObjectKey& key) : feed(target, key) {}
    kube::Feed feed;
    std::stop_source stop;
    std::optional<Time> started = {};
  };
  struct Running {
    Loop& loop;
    kube::Api& api;
    Random& random;
    Scope& scope;
    std::stop_token stop;
  };

  std::set<kube::ObjectKey> names_of(const kube::ObjectKey& cluster) const;
  void look_at(const kube::ObjectKey& cluster);
  void look_at_secret(const kube::ObjectKey& secret);
  void follow(const kube::ObjectKey& secret);
  void unfollow(const kube::ObjectKey& secret);
  void start(const std::shared_ptr<Followed>& followed);
  void start_labelled();
  void tell(const kube::ObjectKey& secret);
  static Task<void> reflect(Running running, std::shared_ptr<Followed> followed);

  const kube::Cache<ray::RayCluster>& clusters_;
  bool certificates_;
  std::map<kube::ObjectKey, std::set<kube::ObjectKey>> wants_ = {};    // of a cluster
  std::map<kube::ObjectKey, std::set<kube::ObjectKey>> wanters_ = {};  // of a Secret
  std::map<kube::ObjectKey, std::shared_ptr<Followed>> followed_ = {};
  std::vector<std::function<void(const kube::ObjectKey&)>> callbacks_ = {};
  std::optional<Running> running_ = {};
  std::optional<Time> labelled_started_ = {};
};

}  // namespace manta::operator_
