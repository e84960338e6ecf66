// One active process of several, by a Lease, as client-go does it.
//
//   LeaderElection election(loop, api, random, {.lease = {ns, "ray-operator-leader"}, .identity =
//   id}); election.on_started = [&] { … };          // we may write election.on_lost = [&] { …
//   exit(1) };     // we must not write any more co_await election.run(stop);
//
// Guarantees: on_lost is called `renew_deadline` after the last renewal that succeeded was sent,
// also while a request hangs; nobody else takes the Lease before it has seen it unrenewed for
// `duration`. So there are duration − renew_deadline between the last write of one and the first of
// the next, whatever the clocks say: both waits are timers. A process that was stopped for longer
// (SIGSTOP, a frozen machine) finds is_leader() false before any timer has run; FencedApi asks it
// for each write. A follower looks within `retry_period` and takes an expired Lease at once, so it
// leads at most `duration` + `retry_period` after the last renewal. The Lease is not released at
// the stop. Source: spec/07 §18.
#pragma once

#include "base/loop.h"
#include "base/random.h"
#include "kube/api.h"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace manta::kube {

struct LeaseOptions {
  ObjectKey lease = {};
  std::string identity = {};  // "<hostname>_<uuid>"
  Duration duration = std::chrono::seconds{15};
  Duration renew_deadline = std::chrono::seconds{10};
  Duration retry_period = std::chrono::seconds{2};
};

class LeaderElection {
 public:
  LeaderElection(Loop& loop, Api& api, Random& random, LeaseOptions options);
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  std::function<void()> on_started = {};
  std::function<void()> on_lost = {};

  bool is_leader() const { return leading_ && loop_.now() < valid_until_; }
  /// Who was last seen to hold the Lease; empty: nobody.
  const std::string& leader() const { return holder_; }
  /// Ends when stopped (a request in flight is waited for), or when the Lease was lost.
  Task<void> run(std::stop_token stop);

 private:
  Task<bool> acquire(std::stop_token stop);
  Task<bool> wait_for_turn(std::stop_token stop);  // false: stopped
  Task<bool> try_once();                           // true: the Lease is ours, as of this call
  Task<bool> write(std::optional<Json> held);
  void observe(const Json& lease);
  void renewed(Time sent);
  Task<void> announce();

  Loop& loop_;
  Api& api_;
  Random& random_;
  LeaseOptions options_;
  bool leading_ = false;
  bool lost_ = false;
  Time valid_until_ = {};  // of the last renewal
  std::string holder_ = {};
  std::string seen_ = {};  // the last observed spec
  bool expired_ = false;   // seen_ has not changed for its duration
  std::function<void()> wake_ = {};
  Loop::TimerId expiry_ = 0;
  Loop::TimerId deadline_ = 0;
  Json lease_ = {};  // as last seen
};

/// An Api whose writes are refused (Unavailable) while `may_write` says no; reads pass.
class FencedApi final : public Api {
 public:
  FencedApi(Api& api, std::function<bool()> may_write)
      : api_(api), may_write_(std::move(may_write)) {}

  Task<Result<Response>> call(Request request) override;
  Task<Result<void>> watch(WatchRequest request, WatchSink sink, std::stop_token stop) override {
    return api_.watch(std::move(request), std::move(sink), std::move(stop));
  }
  Task<Result<RawResponse>> raw(RawRequest request) override;

 private:
  Api& api_;
  std::function<bool()> may_write_;
};

}  // namespace manta::kube
