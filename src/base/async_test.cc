#include "base/async.h"

#include "base/asio_loop.h"
#include "base/virtual_loop.h"

#include <gtest/gtest.h>

namespace manta {
namespace {

using namespace std::chrono_literals;

Task<int> later(Loop& loop, Duration delay, int value) {
  co_await sleep(loop, delay);
  co_return value;
}

TEST(VirtualLoop, TimersRunInOrderOfTimeThenOfSetting) {
  VirtualLoop loop;
  std::string order;
  loop.after(2s, [&] { order += 'c'; });
  loop.after(1s, [&] { order += 'a'; });
  loop.after(1s, [&] { order += 'b'; });
  const auto cancelled = loop.after(1s, [&] { order += 'x'; });
  loop.post([&] { order += '0'; });
  loop.cancel(cancelled);
  EXPECT_EQ(loop.run_ready(), 1u);
  loop.run_for(1s);
  EXPECT_EQ(order, "0ab");
  EXPECT_EQ(*loop.next_timer() - loop.steady(), 1s);
  loop.run_for(10s);
  EXPECT_EQ(order, "0abc");
  EXPECT_FALSE(loop.next_timer());
  loop.cancel(cancelled);  // long gone: no effect
}

TEST(VirtualLoop, RunUntilStopsWhereTheConditionCameTrue) {
  VirtualLoop loop;
  int count = 0;
  for (int i = 0; i < 5; ++i) loop.post([&] { ++count; });
  EXPECT_TRUE(loop.run_until([&] { return count == 2; }, 1s));
  EXPECT_EQ(count, 2);
  EXPECT_FALSE(loop.run_until([&] { return count == 9; }, 1s));
  loop.after(2s, [&] { count = 9; });
  EXPECT_FALSE(loop.run_until([&] { return count == 9; }, 1s));
  EXPECT_EQ(loop.run(later(loop, 5h, 3)), 3);
}

TEST(Sleep, EndsEarlyWhenStopped) {
  VirtualLoop loop;
  std::stop_source stop;
  loop.after(1s, [&] { stop.request_stop(); });
  const Time start = loop.now();
  EXPECT_FALSE(loop.run(sleep(loop, 1h, stop.get_token())));
  EXPECT_EQ(loop.now() - start, 1s);
  EXPECT_FALSE(loop.next_timer()) << "the timer is cancelled";
  EXPECT_FALSE(loop.run(sleep(loop, 1h, stop.get_token())));
  EXPECT_TRUE(loop.run(sleep(loop, 0s)));
}

TEST(OneShot, TheFirstSetWins) {
  VirtualLoop loop;
  OneShot<int> value(loop);
  loop.after(1s, [value] { EXPECT_TRUE(value.set(1)); });
  loop.after(2s, [value] { EXPECT_FALSE(value.set(2)); });
  const auto get = [](OneShot<int> v) -> Task<int> { co_return co_await v; };
  EXPECT_EQ(loop.run(get(value)), 1);
  loop.run_for(5s);
}

TEST(Channel, GivesItemsInOrderThenEnds) {
  VirtualLoop loop;
  Channel<std::string> channel(loop);
  channel.push("a");
  loop.after(1s, [channel] { channel.push("b"); });
  loop.after(2s, [channel] {
    channel.push("c");
    channel.close();
    channel.push("lost");
  });
  const auto drain = [](Channel<std::string> c) -> Task<std::string> {
    std::string all;
    while (auto item = co_await c.next()) all += *item;
    co_return all;
  };
  EXPECT_EQ(loop.run(drain(channel)), "abc");
}

TEST(Scope, JoinWaitsForTasksSpawnedMeanwhile) {
  VirtualLoop loop;
  Scope scope(loop);
  std::string order;
  const auto inner = [](Loop& l, std::string& out) -> Task<void> {
    co_await sleep(l, 2s);
    out += "inner ";
  };
  const auto outer = [inner](Loop& l, Scope& s, std::string& out) -> Task<void> {
    co_await sleep(l, 1s);
    s.spawn("inner", inner(l, out));
    out += "outer ";
  };
  scope.spawn("outer", outer(loop, scope, order));
  EXPECT_EQ(scope.running(), 1u);
  const auto join = [](Scope& s, std::string& out) -> Task<int> {
    co_await s.join();
    out += "joined";
    co_return 0;
  };
  loop.run(join(scope, order));
  EXPECT_EQ(order, "outer inner joined");
  loop.run(join(scope, order));  // nothing runs: at once
}

TEST(Scope, StopReachesTheTasks) {
  VirtualLoop loop;
  Scope scope(loop);
  int ended = 0;
  const auto wait = [](Loop& l, std::stop_token stop, int& count) -> Task<void> {
    while (co_await sleep(l, 1min, stop)) {
    }
    ++count;
  };
  for (int i = 0; i < 3; ++i) scope.spawn("wait", wait(loop, scope.stop_token(), ended));
  loop.run_for(10min);
  EXPECT_EQ(ended, 0);
  scope.request_stop();
  loop.run_ready();
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(scope.running(), 0u);
}

TEST(ScopeDeathTest, MustBeJoined) {
  EXPECT_DEATH(
      {
        VirtualLoop loop;
        Scope scope(loop);
        scope.spawn("sleeps", [](Loop& l) -> Task<void> { co_await sleep(l, 1h); }(loop));
      },
      "running_ == 0");
}

TEST(WhenAll, KeepsTheOrderOfTheTasks) {
  VirtualLoop loop;
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(later(loop, (5 - i) * 1s, i));
  const Time start = loop.now();
  EXPECT_EQ(loop.run(when_all(loop, std::move(tasks))), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(loop.now() - start, 5s) << "side by side, not one after the other";
  EXPECT_TRUE(loop.run(when_all(loop, std::vector<Task<int>>{})).empty());
}

Task<Result<int>> stoppable(Loop& loop, Duration delay, std::stop_token stop) {
  if (!co_await sleep(loop, delay, stop)) co_return failed(ErrorCode::Cancelled, "stopped");
  co_return 7;
}

TEST(WithDeadline, AnswersTimeoutOnlyWhenLate) {
  VirtualLoop loop;
  std::stop_source a, b;
  EXPECT_EQ(loop.run(with_deadline(loop, 2s, a, stoppable(loop, 1s, a.get_token()))).value(), 7);
  EXPECT_FALSE(loop.next_timer());
  const auto late = loop.run(with_deadline(loop, 2s, b, stoppable(loop, 3s, b.get_token())));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Timeout);
}

TEST(AsioLoop, RunsPostsTimersAndTasks) {
  AsioLoop loop;
  std::string order;
  loop.post([&] { order += 'a'; });
  const auto never = loop.after(1h, [&] { order += 'x'; });
  loop.cancel(never);
  EXPECT_EQ(run_to_end(loop, later(loop, 1ms, 4)), 4);
  EXPECT_EQ(run_to_end(loop, later(loop, 0ms, 5)), 5) << "a second run on the same loop";
  EXPECT_EQ(order, "a");
  std::stop_source stop;
  loop.after(1ms, [&] { stop.request_stop(); });
  EXPECT_FALSE(run_to_end(loop, sleep(loop, 1h, stop.get_token())));
}

}  // namespace
}  // namespace manta
