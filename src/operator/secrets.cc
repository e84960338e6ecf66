#include "operator/secrets.h"

#include "ray/builders/access.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"
#include "ray/names.h"

namespace manta::operator_ {

constexpr Duration kPatience = std::chrono::seconds{30};

Secrets::Secrets(const std::string& namespace_, kube::Cache<ray::RayCluster>& clusters,
                 bool certificates)
    : labelled(kube::kSecrets, kube::project_secret,
               {.namespace_ = namespace_,
                .label_selector = std::string(ray::kLabelCluster),
                .on_demand = true}),
      named(kube::kSecrets, kube::project_secret, {.namespace_ = namespace_, .on_demand = true}),
      clusters_(clusters),
      certificates_(certificates) {
  named.keep_only([this](const Json& object) { return followed_.contains(kube::key_of(object)); });
  clusters.listen([this](const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
    look_at((after ? after : before)->key);
  });
  labelled.listen([this](const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
    look_at_secret((after ? after : before)->key);
  });
  labelled.when_synced([this] {
    for (const auto& [secret, wanters] : std::map(wanters_)) {
      look_at_secret(secret);
      if (known(secret)) tell(secret);
    }
  });
}

std::shared_ptr<const kube::SecretView> Secrets::get(const kube::ObjectKey& key) const {
  auto found = labelled.get(key);
  return found ? found : named.get(key);
}

bool Secrets::known(const kube::ObjectKey& key) const {
  if (labelled.get(key)) return true;
  const auto found = followed_.find(key);
  return found != followed_.end() && found->second->feed.synced();
}

bool Secrets::known_to(const kube::ObjectKey& cluster) const {
  const auto wants = wants_.find(cluster);
  if (wants == wants_.end()) return true;
  for (const auto& secret : wants->second)
    if (!known(secret)) return false;
  return true;
}

std::optional<kube::ObjectKey> Secrets::overdue(const kube::ObjectKey& cluster, Time now) const {
  const auto wants = wants_.find(cluster);
  if (wants == wants_.end()) return std::nullopt;
  for (const auto& secret : wants->second) {
    if (known(secret)) continue;
    const auto followed = followed_.find(secret);
    const auto since = followed == followed_.end() ? labelled_started_ : followed->second->started;
    if (since && now - *since > kPatience) return secret;
  }
  return std::nullopt;
}

std::vector<kube::ObjectKey> Secrets::wanted_by(const kube::ObjectKey& secret) const {
  const auto wanters = wanters_.find(secret);
  if (wanters == wanters_.end()) return {};
  return {wanters->second.begin(), wanters->second.end()};
}

void Secrets::on_known(std::function<void(const kube::ObjectKey&)> callback) {
  callbacks_.push_back(std::move(callback));
}

std::set<kube::ObjectKey> Secrets::names_of(const kube::ObjectKey& key) const {
  std::set<kube::ObjectKey> names;
  const auto cluster = clusters_.get(key);
  if (!cluster) return names;
  const auto add = [&](std::string name) { names.insert({key.namespace_, std::move(name)}); };
  if (ray::needs_auth_secret(cluster->spec)) {
    add(ray::check_name(key.name));
    // Where another cluster has the clipped name. RC-25
    if (ray::check_name(key.name) != key.name) add(ray::distinct_name(key.name));
  } else if (ray::token_auth_enabled(cluster->spec)) {
    add(ray::auth_secret_name(*cluster));
  }
  if (certificates_ && cluster->spec.tlsOptions &&
      ray::is_true(cluster->spec.tlsOptions->enabled)) {
    add(ray::ca_secret_name(key.name, cluster->meta.uid));
    add(ray::head_tls_secret_name(key.name));
    add(ray::worker_tls_secret_name(key.name));
  }
  return names;
}

void Secrets::look_at(const kube::ObjectKey& cluster) {
  auto names = names_of(cluster);
  const auto known = wants_.find(cluster);
  if (known == wants_.end() ? names.empty() : known->second == names) return;
  auto before = std::exchange(wants_[cluster], names);
  if (names.empty()) wants_.erase(cluster);
  for (const auto& secret : names) {
    before.erase(secret);
    wanters_[secret].insert(cluster);
    look_at_secret(secret);
  }
  for (const auto& secret : before) {
    auto& wanters = wanters_[secret];
    wanters.erase(cluster);
    if (wanters.empty()) wanters_.erase(secret);
    look_at_secret(secret);
  }
}

// Ours are known by their label. Others, and whether there is one, are asked for by name.
void Secrets::look_at_secret(const kube::ObjectKey& secret) {
  if (!wanters_.contains(secret) || labelled.get(secret)) return unfollow(secret);
  start_labelled();
  if (labelled.synced() && !labelled.get(secret)) follow(secret);
}

void Secrets::follow(const kube::ObjectKey& secret) {
  auto& followed = followed_[secret];
  if (followed) return;
  followed = std::make_shared<Followed>(named, secret);
  followed->feed.when_synced([this, secret] { tell(secret); });
  start(followed);
}

void Secrets::unfollow(const kube::ObjectKey& secret) {
  const auto found = followed_.find(secret);
  if (found == followed_.end()) return;
  found->second->stop.request_stop();
  followed_.erase(found);
  named.forget(secret);
}

void Secrets::tell(const kube::ObjectKey& secret) {
  for (const auto& cluster : wanted_by(secret))
    for (const auto& callback : callbacks_) callback(cluster);
}

void Secrets::start(const std::shared_ptr<Followed>& followed) {
  if (!running_ || followed->started) return;
  followed->started = running_->loop.now();
  running_->scope.spawn("follow a Secret", reflect(*running_, followed));
}

void Secrets::start_labelled() {
  if (!running_ || labelled_started_) return;
  labelled_started_ = running_->loop.now();
  running_->scope.spawn("follow Secrets", kube::reflect(running_->loop, running_->api, labelled,
                                                        running_->random, running_->stop));
}

Task<void> Secrets::reflect(Running running, std::shared_ptr<Followed> followed) {
  const std::stop_callback stopped(running.stop, [&] { followed->stop.request_stop(); });
  co_await kube::reflect(running.loop, running.api, followed->feed, running.random,
                         followed->stop.get_token());
}

Task<void> Secrets::run(Loop& loop, kube::Api& api, Random& random, std::stop_token stop) {
  Scope scope(loop);
  running_.emplace(Running{loop, api, random, scope, stop});
  OneShot<bool> stopped(loop);
  const std::stop_callback on_stop(stop, [stopped] { stopped.set(true); });
  for (const auto& [secret, wanters] : std::map(wanters_)) look_at_secret(secret);
  for (const auto& [secret, followed] : std::map(followed_)) start(followed);
  co_await stopped;
  running_.reset();
  co_await scope.join();
}

}  // namespace manta::operator_
