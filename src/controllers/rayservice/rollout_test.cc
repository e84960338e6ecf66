// Every state the rollout can get into, with everything the world may show then.
#include "controllers/rayservice/rollout.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <tuple>
#include <vector>

namespace manta::controllers::rayservice {
namespace {

using enum Move;

// ---- one decision, a row each

struct Row {
  const char* name;
  Rollout rollout;
  RolloutSeen seen;
  Move want;
};

constexpr RolloutSeen kInc{.incremental = true, .gateway_ready = true, .surge = 50, .step = 25};
RolloutSeen inc(RolloutSeen seen) {
  seen.incremental = true;
  seen.gateway_ready = true;
  seen.surge = kInc.surge;
  seen.step = kInc.step;
  return seen;
}
Shares shares(int a_capacity, int a_traffic, int p_capacity, int p_traffic) {
  return {.active = {.capacity = a_capacity, .traffic = a_traffic},
          .pending = {.capacity = p_capacity, .traffic = p_traffic}};
}

const Row kRows[] = {
    {"NothingYet", {}, {}, Prepare},
    {"NothingYetThoughStrategyIsNone", {}, {.may_replace = false}, Prepare},
    {"NamedAndAboutToBeMade", {.pending = true}, {}, None},
    {"FirstStarts", {.pending = true}, {.pending_exists = true, .pending_fits = true}, None},
    {"FirstServesBeforeItsServiceTurns",
     {.pending = true},
     {.pending_exists = true, .pending_serves = true, .pending_fits = true},
     None},
    {"FirstServes",
     {.pending = true},
     {.pending_exists = true,
      .pending_serves = true,
      .pending_fits = true,
      .traffic_on_pending = true},
     Promote},
    {"FirstIsOutdated", {.pending = true}, {.pending_exists = true}, Prepare},
    {"FirstIsOutdatedButStrategyIsNone",
     {.pending = true},
     {.pending_exists = true, .may_replace = false},
     None},
    {"OutdatedButServing",
     {.active = true, .pending = true},
     {.active_exists = true, .pending_exists = true, .pending_serves = true},
     None},
    {"BeingDeletedByHand", {.pending = true}, {.pending_going = true}, Prepare},
    {"Settled", {.active = true}, {.active_exists = true, .active_fits = true}, None},
    {"Changed", {.active = true}, {.active_exists = true}, Prepare},
    {"ChangedButStrategyIsNone",
     {.active = true},
     {.active_exists = true, .may_replace = false},
     None},
    {"ActiveLost", {.active = true}, {}, Prepare},
    {"SwitchedBeforeItWasTold",
     {.active = true, .pending = true},
     {.active_exists = true, .pending_exists = true, .traffic_on_pending = true},
     Promote},
    {"IncrementalFirstServes",
     {.pending = true},
     inc({.pending_exists = true, .pending_serves = true, .pending_fits = true}),
     Promote},
    {"AllHasMoved",
     {.active = true, .pending = true, .shares = shares(0, 0, 100, 100)},
     inc({.active_exists = true, .pending_exists = true, .pending_fits = true}),
     Promote},
    {"CapacityIsLeft",
     {.active = true, .pending = true, .shares = shares(50, 0, 100, 100)},
     inc({.active_exists = true, .pending_exists = true, .pending_fits = true}),
     None},
    {"SEEN_31_ActiveLostInMidUpgrade",
     {.active = true, .pending = true, .shares = shares(100, 75, 50, 25)},
     inc({.pending_exists = true, .pending_serves = true, .pending_fits = true}),
     Promote},
    {"OldSpecComesBack",
     {.active = true, .pending = true},
     inc({.active_exists = true, .pending_exists = true, .active_fits = true}),
     RollBack},
    {"ThirdSpec",
     {.active = true, .pending = true},
     inc({.active_exists = true, .pending_exists = true}),
     RollBack},
    {"PendingIsWantedAgain",
     {.active = true, .pending = true, .rolling_back = true},
     inc({.active_exists = true, .pending_exists = true, .pending_fits = true}),
     Resume},
    {"RS_12_NothingToGoBackTo",
     {.active = true, .pending = true, .rolling_back = true},
     inc({.pending_exists = true}),
     ForgetRollback},
    {"StrategyChangedInMidRollback",
     {.active = true, .pending = true, .rolling_back = true},
     {.active_exists = true, .pending_exists = true, .active_fits = true},
     ForgetRollback},
    {"SEEN_27_NothingWasEverMoved",
     {.active = true,
      .pending = true,
      .rolling_back = true,
      .shares = {.pending = {.capacity = 0}}},
     inc({.active_exists = true, .pending_exists = true, .pending_head_ready = true}),
     EndRollback},
    {"CapacityStillThere",
     {.active = true, .pending = true, .rolling_back = true, .shares = shares(100, 100, 50, 0)},
     inc({.active_exists = true,
          .pending_exists = true,
          .active_serves = true,
          .pending_head_ready = true,
          .active_fits = true}),
     None},
    {"RS_12_PendingHeadIsDown",
     {.active = true, .pending = true, .rolling_back = true, .shares = shares(100, 100, 50, 0)},
     inc({.active_exists = true, .pending_exists = true, .active_fits = true}),
     EndRollback},
};

class DecideMove : public testing::TestWithParam<Row> {};
TEST_P(DecideMove, Row) {
  EXPECT_EQ(decide_move(GetParam().rollout, GetParam().seen), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, DecideMove, testing::ValuesIn(kRows),
                         [](const auto& info) { return info.param.name; });

// ---- the steps of spec/05 §6.5

TEST(WantShares, FollowTheExampleOfTheSpec) {
  Rollout rollout{
      .active = true, .pending = true, .shares = {.active = {}, .pending = {.capacity = 0}}};
  const auto seen = inc({.active_exists = true,
                         .pending_exists = true,
                         .active_serves = true,
                         .pending_serves = true,
                         .pending_head_ready = true,
                         .pending_fits = true});
  std::vector<std::tuple<int, int, int, int>> path;
  while (decide_move(rollout, seen) != Promote && path.size() < 20) {
    rollout.shares = want_shares(rollout, seen);
    const auto& [a, p] = rollout.shares;
    path.emplace_back(*a.capacity, *p.capacity, *a.traffic, *p.traffic);
  }
  const std::vector<std::tuple<int, int, int, int>> want = {
      {100, 50, 100, 0}, {100, 50, 75, 25}, {100, 50, 50, 50}, {50, 50, 50, 50},
      {50, 100, 50, 50}, {50, 100, 25, 75}, {50, 100, 0, 100}, {0, 100, 0, 100}};
  EXPECT_EQ(path, want);
}

TEST(WantShares, TrafficWaitsForTheInterval) {
  const Time start{std::chrono::hours{1}};
  Rollout rollout{.active = true, .pending = true, .shares = shares(100, 75, 50, 25)};
  rollout.shares.pending.moved = start;
  auto seen = inc({.active_exists = true, .pending_exists = true, .pending_serves = true});
  seen.interval = std::chrono::seconds{10};
  seen.now = start + std::chrono::seconds{9};
  EXPECT_EQ(want_shares(rollout, seen).pending.traffic, 25);
  EXPECT_EQ(next_shift(rollout, seen), start + std::chrono::seconds{10});
  seen.now = start + std::chrono::seconds{10};
  EXPECT_EQ(want_shares(rollout, seen).pending.traffic, 50);
}

TEST(WantShares, ARollbackDoesNotTurnTrafficFromWhatMayServe) {
  const Rollout rollout{
      .active = true, .pending = true, .rolling_back = true, .shares = shares(100, 50, 50, 50)};
  auto seen = inc({.active_exists = true, .pending_exists = true, .active_fits = true});
  EXPECT_EQ(want_shares(rollout, seen).active.traffic, 75);  // nobody serves
  seen.pending_may_answer = true;
  EXPECT_EQ(want_shares(rollout, seen).active.traffic, 50);
  seen.active_serves = true;
  EXPECT_EQ(want_shares(rollout, seen).active.traffic, 75);
}

TEST(WantShares, RS_14_WithoutAGatewayNothingMoves) {
  const Rollout rollout{.active = true, .pending = true, .shares = {.pending = {.capacity = 0}}};
  auto seen = inc({.active_exists = true, .pending_exists = true, .pending_serves = true});
  seen.gateway_ready = false;
  const auto wanted = want_shares(rollout, seen);
  EXPECT_EQ(wanted.active.traffic, 100);
  EXPECT_EQ(wanted.pending.traffic, 0);
  EXPECT_EQ(wanted.pending.capacity, 0);
}

// ---- all states × all inputs

std::vector<RolloutSeen> all_seen(const Rollout& rollout, bool incremental) {
  std::vector<RolloutSeen> out;
  for (unsigned bits = 0; bits < 1u << 11; ++bits) {
    const auto bit = [bits](int i) { return (bits >> i & 1) != 0; };
    RolloutSeen seen{.active_exists = bit(0),
                     .pending_exists = bit(1),
                     .pending_going = bit(2),
                     .active_serves = bit(3),
                     .pending_serves = bit(4),
                     .pending_head_ready = bit(5),
                     .active_fits = bit(6),
                     .pending_fits = bit(7),
                     .traffic_on_pending = bit(8),
                     .may_replace = incremental || bit(9),
                     .incremental = incremental,
                     .gateway_ready = bit(10),
                     .surge = 50,
                     .step = 50};
    // What cannot be seen together.
    if ((seen.active_exists && !rollout.active) || (seen.pending_exists && !rollout.pending))
      continue;
    if (seen.pending_going && (seen.pending_exists || !rollout.pending)) continue;
    if ((seen.active_serves || seen.active_fits) && !seen.active_exists) continue;
    if ((seen.pending_serves || seen.pending_fits || seen.pending_head_ready ||
         seen.traffic_on_pending) &&
        !seen.pending_exists)
      continue;
    if (seen.pending_serves && !seen.pending_head_ready) continue;
    if (incremental && (seen.traffic_on_pending || bit(9))) continue;
    if (!incremental && seen.gateway_ready) continue;
    out.push_back(seen);
  }
  return out;
}

auto key_of(const Rollout& r) {
  const auto& [a, p] = r.shares;
  return std::tuple(r.active, r.pending, r.rolling_back, a.capacity, a.traffic, p.capacity,
                    p.traffic);
}

// What a step may leave behind: each share is taken over, or the request failed and it stays.
std::vector<Shares> outcomes(const Shares& had, const Shares& wanted) {
  std::vector<Shares> out;
  for (unsigned bits = 0; bits < 8; ++bits) {
    Shares next = had;
    if (bits & 1) next.active.capacity = wanted.active.capacity;
    if (bits & 2) next.pending.capacity = wanted.pending.capacity;
    if (bits & 4) {
      next.active.traffic = wanted.active.traffic;
      next.pending.traffic = wanted.pending.traffic;
    }
    out.push_back(next);
  }
  return out;
}

void expect_laws(const Rollout& rollout, const RolloutSeen& seen, Move move, const Shares& wanted) {
  const auto next = after(move, rollout, seen);
  ASSERT_TRUE(next.active || next.pending) << "nobody is named";
  if (seen.incremental && seen.active_exists) {
    ASSERT_EQ(wanted.active.traffic.value_or(100) + wanted.pending.traffic.value_or(0), 100);
  }
  if (seen.incremental && seen.active_exists && seen.pending_exists) {
    const auto before = rollout.shares.pending.traffic.value_or(0);
    if (!seen.pending_serves) {
      ASSERT_LE(*wanted.pending.traffic, before) << "turned to what does not serve";
    } else if (!seen.active_serves) {
      ASSERT_GE(*wanted.pending.traffic, before) << "turned from the only cluster that serves";
    }
  }
  const bool drops_active = move == Promote && rollout.active;
  if (drops_active && seen.active_exists && seen.incremental) {
    ASSERT_EQ(rollout.shares.pending.traffic, 100) << "the old cluster still has traffic";
    ASSERT_EQ(rollout.shares.active.capacity, 0) << "the old cluster still has replicas";
  }
  if (drops_active && !seen.incremental) {
    ASSERT_TRUE(seen.traffic_on_pending);
  }
  const bool drops_pending = rollout.pending && (move == EndRollback || move == Prepare);
  if (drops_pending && seen.pending_serves) {
    ASSERT_EQ(move, EndRollback);
    ASSERT_TRUE(seen.active_serves) << "the only cluster that serves is dropped";
  }
  if (drops_pending) {
    ASSERT_FALSE(seen.traffic_on_pending);
  }
}

// A world that does what it is asked: made clusters serve, the Gateway works, nobody changes the
// spec again.
struct Benign {
  bool active_lives = true;
  bool pending_lives = true;  // its head is up and its applications run, once it is made
  bool active_fits = false;
  bool pending_fits = true;
  bool may_replace = true;
};

// Alone in the end, it has all of the capacity that Serve was ever told, and all of the traffic.
bool has_everything(const Rollout& rollout, bool incremental) {
  const auto& [capacity, traffic, moved] = rollout.shares.active;
  if (!incremental) return capacity == std::nullopt && traffic == std::nullopt;
  return capacity.value_or(100) == 100 && traffic == 100;
}

bool settles(Rollout rollout, bool incremental, Benign world) {
  bool active_exists = rollout.active;
  bool traffic_on_pending = false;
  for (int steps = 0; steps < 100; ++steps) {
    RolloutSeen seen{.active_exists = active_exists,
                     .pending_exists = rollout.pending,
                     .active_serves = active_exists && world.active_lives,
                     .pending_serves = rollout.pending && world.pending_lives,
                     .pending_head_ready = rollout.pending && world.pending_lives,
                     .active_fits = active_exists && world.active_fits,
                     .pending_fits = rollout.pending && world.pending_fits,
                     .traffic_on_pending = traffic_on_pending && rollout.pending,
                     .may_replace = world.may_replace,
                     .incremental = incremental,
                     .gateway_ready = incremental,
                     .surge = 50,
                     .step = 50};
    const auto move = decide_move(rollout, seen);
    const auto wanted = want_shares(rollout, seen);
    if (move == None && wanted == rollout.shares && !rollout.pending)
      return rollout.active && !rollout.rolling_back && (world.active_fits || !world.may_replace) &&
             has_everything(rollout, incremental);
    traffic_on_pending = !incremental && seen.pending_serves;
    rollout.shares = wanted;
    rollout = after(move, rollout, seen);
    if (move == Prepare) world.pending_fits = world.pending_lives = true;
    if (move != Promote) continue;
    active_exists = true;
    traffic_on_pending = false;
    world.active_fits = world.pending_fits;
    world.active_lives = world.pending_lives;
  }
  return false;
}

class Explore : public testing::TestWithParam<bool> {};

TEST_P(Explore, NoStateBreaksALawOrHasNoWayOut) {
  const bool incremental = GetParam();
  std::deque<Rollout> queue = {Rollout{}};
  std::set<decltype(key_of(Rollout{}))> known = {key_of(Rollout{})};
  std::size_t transitions = 0;
  while (!queue.empty()) {
    const auto rollout = queue.front();
    queue.pop_front();
    for (const auto& seen : all_seen(rollout, incremental)) {
      const auto move = decide_move(rollout, seen);
      const auto wanted = want_shares(rollout, seen);
      ASSERT_NO_FATAL_FAILURE(expect_laws(rollout, seen, move, wanted));
      for (const auto& shares : outcomes(rollout.shares, wanted)) {
        auto next = rollout;
        next.shares = shares;
        next = after(move, next, seen);
        ++transitions;
        if (known.insert(key_of(next)).second) queue.push_back(next);
      }
    }
    // Whatever happened before: a new spec arrives, or the old one comes back.
    ASSERT_TRUE(settles(rollout, incremental, {}));
    ASSERT_TRUE(settles(rollout, incremental, {.active_fits = true, .pending_fits = false}));
    ASSERT_TRUE(settles(rollout, incremental, {.active_fits = false, .pending_fits = false}));
    ASSERT_TRUE(settles(rollout, incremental, {.active_lives = false}));
    if (rollout.active)
      ASSERT_TRUE(settles(rollout, incremental,
                          {.pending_lives = false, .active_fits = true, .pending_fits = false}));
  }
  EXPECT_GT(transitions, incremental ? 10'000u : 200u);
}
INSTANTIATE_TEST_SUITE_P(, Explore, testing::Bool(),
                         [](const auto& info) { return info.param ? "Incremental" : "AtOnce"; });

}  // namespace
}  // namespace manta::controllers::rayservice
