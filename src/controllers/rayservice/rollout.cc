#include "controllers/rayservice/rollout.h"

#include <algorithm>

namespace manta::controllers::rayservice {
namespace {

constexpr std::int32_t kAll = 100;
// Between traffic that moved and the next move of capacity; upstream looks that often.
constexpr std::chrono::seconds kPause{2};

bool both_exist(const RolloutSeen& seen) { return seen.active_exists && seen.pending_exists; }

std::int32_t capacity(const Share& share, std::int32_t absent) {
  return share.capacity.value_or(absent);
}
std::int32_t traffic(const Share& share, std::int32_t absent) {
  return share.traffic.value_or(absent);
}

bool is_promotable(const Rollout& rollout, const RolloutSeen& seen) {
  if (!rollout.pending || !seen.pending_exists) return false;
  if (!seen.incremental) return seen.traffic_on_pending;
  // Nobody else can serve: in steps there is nothing to step from. SEEN-31
  if (!seen.active_exists) return seen.pending_serves;
  return !rollout.rolling_back && rollout.shares.active.capacity == 0 &&
         rollout.shares.pending.traffic == kAll;
}

// The old cluster has all of its capacity and traffic again.
bool is_back(const Share& active) {
  return capacity(active, kAll) == kAll && traffic(active, kAll) == kAll;
}

// SEEN-27: what was never set carries nothing.
bool carries_nothing(const Share& pending) {
  return capacity(pending, 0) == 0 && traffic(pending, 0) == 0;
}

bool is_rolled_back(const Rollout& rollout, const RolloutSeen& seen) {
  if (!is_back(rollout.shares.active)) return false;
  if (!seen.pending_exists || !seen.pending_head_ready) return true;
  // Whoever serves alone is not dropped.
  if (seen.pending_serves && !seen.active_serves) return false;
  return carries_nothing(rollout.shares.pending);
}

bool needs_new_cluster(const Rollout& rollout, const RolloutSeen& seen) {
  if (seen.pending_going && rollout.pending) return true;
  if (rollout.pending) {
    if (!seen.pending_exists) return false;  // is about to be made, from the newest spec
    // One that serves is promoted first.
    return !seen.pending_fits && seen.may_replace && !seen.pending_serves;
  }
  if (!seen.active_exists) return true;  // whatever the strategy: nobody serves
  return !seen.active_fits && seen.may_replace;
}

bool shift_is_due(const Rollout& rollout, const RolloutSeen& seen) {
  const auto next = next_shift(rollout, seen);
  return !next || seen.now >= *next;
}

void shift_traffic(const Rollout& rollout, const RolloutSeen& seen, Shares& shares) {
  const auto& had = rollout.shares;
  // The active cluster has what the pending one has not: alone, it may have been written down with
  // the part of an earlier rollout.
  const auto pending = traffic(had.pending, 0);
  auto active = kAll - pending;
  // A cluster that lost its head may have less capacity than traffic: that turns nothing away.
  if (rollout.rolling_back) {
    const auto most = capacity(had.active, kAll);
    // Nobody is turned from what may answer to what does not.
    const bool may = seen.active_serves || (!seen.pending_serves && !seen.pending_may_answer);
    if (active < most && may && shift_is_due(rollout, seen))
      active = std::min({kAll, active + seen.step, most});
  } else {
    const auto most = capacity(had.pending, 0);
    if (pending < most && seen.pending_serves && shift_is_due(rollout, seen))
      active = kAll - std::min({kAll, pending + seen.step, most});
  }
  shares.active.traffic = active;
  shares.pending.traffic = kAll - active;
}

// One of the two moves, and only when traffic has followed the last move.
void step_capacity(const Rollout& rollout, const RolloutSeen& seen, Shares& shares) {
  auto active = capacity(rollout.shares.active, kAll);
  auto pending = capacity(rollout.shares.pending, 0);
  const bool crowded = active + pending > kAll;
  if (rollout.rolling_back) {
    if (active > traffic(rollout.shares.active, 0)) return;
    if (crowded)
      pending = std::max(0, pending - seen.surge);
    else
      active = std::min(kAll, active + seen.surge);
  } else {
    if (pending > traffic(rollout.shares.pending, 0)) return;
    if (crowded)
      active = std::max(0, active - seen.surge);
    else
      pending = std::min(kAll, pending + seen.surge);
  }
  shares.active.capacity = active;
  shares.pending.capacity = pending;
}

// Of a cluster that is alone: all of it, if it was ever told a part.
void restore(Share& share) {
  if (share.capacity) share.capacity = kAll;
}

}  // namespace

bool heads_back(const Rollout& rollout, const RolloutSeen& seen) {
  if (!both_exist(seen)) return rollout.rolling_back;
  return seen.active_fits || !seen.pending_fits;
}

Move decide_move(const Rollout& rollout, const RolloutSeen& seen) {
  if (rollout.rolling_back && (!seen.incremental || !seen.active_exists))
    return Move::ForgetRollback;  // RS-12
  if (is_promotable(rollout, seen)) return Move::Promote;
  if (seen.incremental && rollout.active && rollout.pending && both_exist(seen)) {
    const bool back = heads_back(rollout, seen);
    if (!back && rollout.rolling_back) return Move::Resume;
    if (back && !rollout.rolling_back) return Move::RollBack;
  }
  if (rollout.rolling_back) return is_rolled_back(rollout, seen) ? Move::EndRollback : Move::None;
  return needs_new_cluster(rollout, seen) ? Move::Prepare : Move::None;
}

Rollout after(Move move, Rollout rollout, const RolloutSeen& seen) {
  switch (move) {
    case Move::None:
      break;
    case Move::Prepare:
      rollout.pending = true;
      rollout.shares.pending = {};
      if (seen.incremental) {
        // The first one, and one that nobody stands beside, takes everything at once.
        if (seen.active_exists)
          rollout.shares.pending.capacity = 0;
        else
          rollout.shares.pending.capacity = kAll;
      }
      break;
    case Move::Promote:
      rollout.active = true;
      rollout.pending = false;
      rollout.shares = {.active = rollout.shares.pending};
      if (!seen.incremental) rollout.shares = {};
      break;
    case Move::RollBack:
      rollout.rolling_back = true;
      break;
    case Move::EndRollback:
      rollout.pending = false;
      rollout.shares.pending = {};
      rollout.rolling_back = false;
      break;
    case Move::Resume:
    case Move::ForgetRollback:
      rollout.rolling_back = false;
      break;
  }
  return rollout;
}

Shares want_shares(const Rollout& rollout, const RolloutSeen& seen) {
  Shares shares = rollout.shares;
  if (!seen.incremental) return shares;
  if (!seen.active_exists) {
    restore(shares.pending);
    return shares;  // no route without an active cluster
  }
  if (!rollout.pending) {
    restore(shares.active);
    shares.active.traffic = kAll;
    return shares;
  }
  if (!seen.pending_exists) {
    // About to be made; or it was lost, and what comes in its place has nothing yet.
    restore(shares.active);
    shares.active.traffic = kAll;
    shares.pending = {.capacity = 0};
    return shares;
  }
  shift_traffic(rollout, seen, shares);
  if (rollout.rolling_back && !seen.pending_head_ready && capacity(shares.pending, 0) != 0) {
    shares.pending.capacity = 0;  // it has none, and nobody is there to be told
    return shares;
  }
  const auto step_at = next_step(rollout);
  if (seen.gateway_ready && !seen.just_told && (!step_at || seen.now >= *step_at))
    step_capacity(rollout, seen, shares);
  return shares;
}

std::optional<Time> next_shift(const Rollout& rollout, const RolloutSeen& seen) {
  const auto& moved =
      rollout.rolling_back ? rollout.shares.active.moved : rollout.shares.pending.moved;
  if (!moved) return std::nullopt;
  return *moved + seen.interval;
}

std::optional<Time> next_step(const Rollout& rollout) {
  const auto& [active, pending] = rollout.shares;
  if (!active.moved && !pending.moved) return std::nullopt;
  return std::max(active.moved.value_or(Time{}), pending.moved.value_or(Time{})) + kPause;
}

}  // namespace manta::controllers::rayservice
