// The operator: every controller on one Api, wired the same way in the manager, in the `manta`
// daemon (on the embedded store) and in tests.
//
//   Operator op(loop, api, outside_of(op…), random, {.settings = settings});
//   auto ended = co_await op.run(stop);   // a value: it was stopped
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "controllers/settings.h"
#include "kube/api.h"
#include "kube/runtime.h"
#include "operator/metrics/ray_metrics.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace manta::operator_ {

struct OperatorOptions {
  controllers::Settings settings = {};
  std::vector<std::string> namespaces = {std::string()};  // one empty: all
  std::string reporting_instance = "kuberay-operator";    // for events
  kube::RuntimeObserver* observer = nullptr;
  RayDurations* durations = nullptr;  // given: to be kept up to date
};

class Operator {
 public:
  Operator(Loop& loop, kube::Api& api, kube::Outside& outside, Random& random,
           OperatorOptions options);
  ~Operator();

  /// Fills the caches, and keeps them equal to the API server until stopped. To be run beside
  /// work(); a follower in a leader election runs only this.
  Task<void> watch(std::stop_token stop);
  /// A new leader's part: has the caches filled anew, since a watch may not have brought yet what
  /// the leader before wrote last; then plans and acts until stopped.
  Task<void> work(std::stop_token stop);

  /// For whoever works alone: fills the caches once, plans and acts, until stopped and every write
  /// in flight has its answer.
  Task<void> run(std::stop_token stop);

  bool synced() const;
  /// The resources whose caches have no first list yet.
  std::vector<std::string> unsynced() const;
  /// True when nothing is planned, in flight or due at once.
  bool idle() const;
  /// How many objects the caches hold, by resource ("secrets"); those that hold none are left out.
  std::map<std::string, std::size_t> held() const;
  /// What the caches hold now, for the metrics.
  RayObjects ray_objects() const;
  /// The token in a cluster's Secret, for RayDashboard.
  std::optional<std::string> token_of(const kube::ObjectKey& secret) const;

 private:
  Task<void> act(std::stop_token stop);
  Task<void> follow(kube::CacheBase* cache, std::vector<kube::CacheBase*> first,
                    std::stop_token stop);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::operator_
