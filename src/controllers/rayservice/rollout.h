// The rollout: which of a RayService's two clusters is active, and how traffic and capacity move
// from one to the other. Pure, small, and explored state by state in rollout_test.cc; the picture
// is in README.md. Source: spec/05 §4, §6.
//
//   Move move = decide_move(rollout, seen);      // at most one a plan, it becomes a status
//   Shares want = want_shares(rollout, seen);    // what to ask of Serve and of the Gateway
#pragma once

#include "base/time.h"

#include <cstdint>
#include <optional>

namespace manta::controllers::rayservice {

/// A cluster's part in an incremental rollout, in percent. Absent: never set.
struct Share {
  std::optional<std::int32_t> capacity = {};  // Serve's target_capacity
  std::optional<std::int32_t> traffic = {};   // weight behind the Gateway
  std::optional<Time> moved = {};             // when traffic last changed
  bool operator==(const Share&) const = default;
};

struct Shares {
  Share active = {};
  Share pending = {};
  bool operator==(const Shares&) const = default;
};

/// What the status remembers: all that outlives the operator's process.
struct Rollout {
  bool active = false;   // is named
  bool pending = false;  // is named
  bool rolling_back = false;
  Shares shares = {};
  bool operator==(const Rollout&) const = default;
};

/// What the world shows.
struct RolloutSeen {
  bool active_exists = false;
  bool pending_exists = false;
  bool pending_going = false;  // is being deleted: its name cannot be used again
  bool active_serves = false;  // every application of its config is RUNNING
  bool pending_serves = false;
  /// Requests that go there may be answered, be it by an older config, or by one of which Ray has
  /// not told yet.
  bool pending_may_answer = false;
  bool pending_head_ready = false;
  bool active_fits = false;  // its spec is what the user wants
  bool pending_fits = false;
  bool traffic_on_pending = false;  // the Serve Service selects it; not in incremental mode

  bool may_replace = true;
  bool incremental = false;
  bool gateway_ready = false;  // and the route
  bool just_told = false;      // Serve of one of them may not have taken in the last request yet
  std::int32_t surge = 100;
  std::int32_t step = 100;
  Duration interval = {};
  Time now = {};
};

enum class Move {
  None,
  Prepare,         // name a new pending cluster; one that is there is dropped
  Promote,         // the pending cluster is the active one
  RollBack,        // back to the active cluster, in steps
  Resume,          // the pending cluster is wanted after all
  EndRollback,     // the pending cluster is dropped
  ForgetRollback,  // there is nothing to go back to
};

/// In steps: the active cluster is the one that will stay, whether the status says so already or
/// not. Looks at which clusters exist and fit.
bool heads_back(const Rollout& rollout, const RolloutSeen& seen);

/// Source: spec/05 §4.4, §4.8, §6.6.
Move decide_move(const Rollout& rollout, const RolloutSeen& seen);

/// The rollout after the move, with nothing else changed.
Rollout after(Move move, Rollout rollout, const RolloutSeen& seen);

/// Capacity and traffic as they should be next: one step, or what there is. Changes nothing outside
/// incremental mode. Traffic of the two always sums to 100. Source: spec/05 §6.3, §6.4.
Shares want_shares(const Rollout& rollout, const RolloutSeen& seen);

/// When traffic may move again, if that is all it waits for.
std::optional<Time> next_shift(const Rollout& rollout, const RolloutSeen& seen);
/// When capacity may move again after traffic has.
std::optional<Time> next_step(const Rollout& rollout);

}  // namespace manta::controllers::rayservice
