#include "kube/leader_election.h"

#include "base/async.h"
#include "base/virtual_loop.h"
#include "kube/testing/memory_api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const ObjectKey kLease{"ray-system", "ray-operator-leader"};

class Election : public ::testing::Test {
 protected:
  struct Candidate {
    Candidate(Election& world, std::string identity)
        : election(world.loop, world.api, world.random, {.lease = kLease, .identity = identity}),
          scope(world.loop) {
      election.on_started = [this, &world] { started = world.loop.now(); };
      election.on_lost = [this, &world] { lost = world.loop.now(); };
      scope.spawn("election", election.run(scope.stop_token()));
    }
    LeaderElection election;
    Scope scope;
    std::optional<Time> started = {};
    std::optional<Time> lost = {};
  };
  Candidate& join(const std::string& identity) {
    return *candidates.emplace_back(std::make_unique<Candidate>(*this, identity));
  }
  void TearDown() override {
    api.fault = {};
    for (auto& candidate : candidates) candidate->scope.request_stop();
    loop.run_for(minutes{2});
  }
  const Json& lease() { return *api.object(kLeases, kLease); }

  VirtualLoop loop;
  SeededRandom random{5};
  MemoryApi api{loop, random};
  std::vector<std::unique_ptr<Candidate>> candidates = {};
};

TEST_F(Election, TheFirstLeadsAndRenews) {
  auto& a = join("a");
  loop.run_for(seconds{1});
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_EQ(string_at(lease(), {"spec", "holderIdentity"}), "a");
  EXPECT_EQ(int_at(lease(), {"spec", "leaseDurationSeconds"}), 15);
  EXPECT_EQ(int_at(lease(), {"spec", "leaseTransitions"}), 0);
  const std::string first(string_at(lease(), {"spec", "renewTime"}));
  EXPECT_EQ(string_at(lease(), {"spec", "acquireTime"}), first);
  loop.run_for(minutes{10});
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_FALSE(a.lost);
  EXPECT_NE(string_at(lease(), {"spec", "renewTime"}), first);
  EXPECT_EQ(string_at(lease(), {"spec", "acquireTime"}), first);
  ASSERT_EQ(api.objects(kCoreEvents).size(), 1u);
  EXPECT_EQ(string_at(api.objects(kCoreEvents)[0], {"message"}), "a became leader");
}

TEST_F(Election, TheSecondWaitsUntilTheFirstsLeaseHasRunOut) {
  auto& a = join("a");
  loop.run_for(seconds{5});
  auto& b = join("b");
  loop.run_for(minutes{5});
  EXPECT_FALSE(b.started);
  EXPECT_EQ(b.election.leader(), "a");
  const Time stopped = loop.now();
  a.scope.request_stop();  // not released
  loop.run_for(minutes{1});
  ASSERT_TRUE(b.started);
  EXPECT_GE(*b.started - stopped, seconds{15 - 3});
  EXPECT_LE(*b.started - stopped, seconds{15 + 2});
  EXPECT_EQ(int_at(lease(), {"spec", "leaseTransitions"}), 1);
}

TEST_F(Election, ACountOfTransitionsThatIsFullKeepsNobodyFromLeading) {
  auto& a = join("a");
  loop.run_for(seconds{5});
  api.merge_now(kLeases, kLease, JsonObject{{"spec", {{"leaseTransitions", INT32_MAX}}}});
  a.scope.request_stop();
  auto& b = join("b");
  loop.run_for(minutes{1});
  EXPECT_TRUE(b.started);
  EXPECT_EQ(int_at(lease(), {"spec", "leaseTransitions"}), INT32_MAX);
}

TEST_F(Election, ALeaderCutOffStopsBeforeAnotherStarts) {
  auto& a = join("a");
  loop.run_for(seconds{5});
  auto& b = join("b");
  loop.run_for(seconds{7});
  api.fault = [](const Request& request) {
    return string_at(request.body, {"spec", "holderIdentity"}) == "a"
               ? MemoryFault{.before = failed(ErrorCode::Unavailable, "cut off").error()}
               : MemoryFault{};
  };
  loop.run_for(minutes{1});
  ASSERT_TRUE(a.lost && b.started);
  EXPECT_FALSE(a.election.is_leader());
  EXPECT_GE(*b.started - *a.lost, seconds{4});
}

TEST_F(Election, ARequestThatHangsDoesNotDelayTheLoss) {
  auto& a = join("a");
  loop.run_for(seconds{5});
  api.latency = [](const Request&) { return minutes{1}; };
  const Time from = loop.now();
  loop.run_for(seconds{15});
  ASSERT_TRUE(a.lost);
  EXPECT_LE(*a.lost - from, seconds{10});
}

TEST_F(Election, TheDeadlineCountsFromWhenTheLastRenewalWasSent) {
  api.latency = [](const Request&) { return milliseconds{1500}; };
  auto& a = join("a");
  loop.run_for(seconds{30});
  ASSERT_TRUE(a.election.is_leader());
  api.fault = [](const Request&) {
    return MemoryFault{.before = failed(ErrorCode::Unavailable, "cut off").error()};
  };
  loop.run_for(seconds{30});
  ASSERT_TRUE(a.lost);
  const auto renewed = parse_rfc3339(string_at(lease(), {"spec", "renewTime"}));
  EXPECT_EQ(*a.lost - *renewed, seconds{10});
}

TEST_F(Election, ALongGrantIsNotTaken) {
  api.latency = [](const Request& request) {
    return request.verb == Verb::Create ? seconds{40} : milliseconds{1};
  };
  auto& a = join("a");
  loop.run_for(seconds{41});
  EXPECT_FALSE(a.started);
}

// Whenever the leader dies, the next one leads within the Lease's duration and one look.
TEST_F(Election, TakesOverWithinLeaseAndTwoSeconds) {
  for (int death = 0; death < 40; ++death) {
    auto& a = join(fmt::format("a{}", death));
    auto& b = join(fmt::format("b{}", death));
    loop.run_for(minutes{1} + milliseconds{137 * death});
    ASSERT_NE(a.started.has_value(), b.started.has_value());
    auto& leader = a.started ? a : b;
    auto& follower = a.started ? b : a;
    const auto renewed = parse_rfc3339(string_at(lease(), {"spec", "renewTime"}));
    leader.scope.request_stop();
    loop.run_for(minutes{1});
    ASSERT_TRUE(follower.started);
    EXPECT_GE(*follower.started - *renewed, seconds{15});
    EXPECT_LE(*follower.started - *renewed, seconds{17} + milliseconds{10});
    follower.scope.request_stop();
    loop.run_for(minutes{1});
  }
}

// A loop whose clock has moved on while nothing ran: SIGSTOP, or a frozen machine.
struct FrozenLoop final : Loop {
  explicit FrozenLoop(VirtualLoop& l) : inner(l) {}
  Time now() const override { return inner.now() + frozen; }
  Steady steady() const override { return inner.steady() + frozen; }
  void post(Callback callback) override { inner.post(std::move(callback)); }
  TimerId after(Duration delay, Callback callback) override {
    return inner.after(delay, std::move(callback));
  }
  void cancel(TimerId timer) override { inner.cancel(timer); }
  VirtualLoop& inner;
  Duration frozen = {};
};

TEST_F(Election, AProcessThatWasFrozenWritesNothing) {
  FrozenLoop clock(loop);
  LeaderElection election(clock, api, random, {.lease = kLease, .identity = "a"});
  Scope scope(loop);
  scope.spawn("election", election.run(scope.stop_token()));
  loop.run_for(seconds{5});
  FencedApi fenced(api, [&election] { return election.is_leader(); });
  const auto write = [&] {
    return loop.run(fenced.create(
        kConfigMaps, JsonObject{{"metadata", JsonObject{{"name", "x"}, {"namespace", "d"}}}}));
  };
  EXPECT_TRUE(write());
  clock.frozen = seconds{30};  // and no timer has run yet
  const auto refused = write();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_EQ(api.count(Verb::Create, kConfigMaps), 1u);
  EXPECT_TRUE(loop.run(fenced.get(kConfigMaps, {"d", "x"})));  // reads do no harm
  scope.request_stop();
  loop.run_for(minutes{1});
}

TEST_F(Election, OfManyAtOnceOneLeads) {
  for (const auto* identity : {"a", "b", "c", "d", "e"}) join(identity);
  loop.run_for(minutes{1});
  int leaders = 0;
  for (const auto& candidate : candidates) leaders += candidate->started.has_value();
  EXPECT_EQ(leaders, 1);
}

}  // namespace
}  // namespace manta::kube
