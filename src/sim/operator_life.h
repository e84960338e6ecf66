// One life of the operator's process: made when it starts, dead when it crashes. From then on
// nothing that it began can write, and all that it knew is lost.
#pragma once

#include "base/async.h"
#include "controllers/settings.h"
#include "kube/api.h"
#include "kube/leader_election.h"
#include "kube/runtime.h"
#include "operator/operator.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::sim {

/// A write that the operator sent.
struct WriteCall {
  Time at = {};
  kube::Verb verb = kube::Verb::Create;
  std::string kind = {};
  std::string subresource = {};
  kube::ObjectKey key = {};   // the name of a created object is the answer's
  std::string uid = {};       // of a delete's precondition
  std::string selector = {};  // of a collection's delete
  bool done = false;          // answered without error
  std::string to_string() const;
};
using WriteLog = std::vector<WriteCall>;

bool is_write(const kube::Request& request);
/// A request in words: "create Pod default/c-head".
WriteCall to_write_call(const kube::Request& request, Time now);

struct LifeOptions {
  controllers::Settings settings = {};
  /// Several processes take turns by this Lease; nothing: there is only one.
  std::optional<kube::LeaseOptions> lease = {};
  /// The process ends by itself, having lost the Lease.
  std::function<void()> on_exit = {};
  /// Hears of each write with the planner's words for it.
  kube::RuntimeObserver* observer = nullptr;
  /// Each write, before it is sent.
  std::function<void(const kube::Request&)> before_write = {};
};

class OperatorLife final : public kube::Api, private kube::RuntimeObserver {
 public:
  OperatorLife(Loop& loop, kube::Api& wire, kube::Outside& outside, Random& random,
               LifeOptions options, WriteLog& log);

  void die();
  bool ended() const { return scope_.running() == 0; }
  /// Nothing is planned, in flight or due at once; or it only looks on.
  bool idle() const;
  /// Some object is to be planned again at a time: a write was refused, or something is due later.
  bool waits() const { return acts() && !waiting_.empty(); }
  bool acts() const { return !election_ || election_->is_leader(); }

  Task<Result<kube::Response>> call(kube::Request request) override;
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override;
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override;

 private:
  void stand_for_election();
  void ended(std::string_view controller, const kube::ObjectKey& key, kube::PassEnd end) override;
  void wrote(std::string_view controller, const kube::Write& write,
             const Result<Json>& answer) override;

  Loop& loop_;
  kube::Api& wire_;
  WriteLog& log_;
  LifeOptions options_;
  bool dead_ = false;
  std::set<std::pair<std::string, kube::ObjectKey>> waiting_ = {};
  Scope scope_;
  operator_::Operator operator_;
  std::optional<kube::LeaderElection> election_ = {};
};

}  // namespace manta::sim
