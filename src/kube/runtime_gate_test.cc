#include "kube/runtime_gate.h"

#include "base/virtual_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace manta::kube {
namespace {

// Users that come in, stay for a second and leave; the order in which they got in is noted.
class Gate : public ::testing::Test {
 protected:
  void come(FairGate& gate, const std::string& who) { scope.spawn(who, visit(gate, who)); }
  Task<void> visit(FairGate& gate, std::string who) {
    co_await gate.enter(queues[who]);
    order += who;
    most = std::max(most, gate.in_flight());
    co_await sleep(loop, std::chrono::seconds{1});
    gate.leave(queues[who]);
  }

  VirtualLoop loop;
  std::map<std::string, FairGate::Queue> queues = {};
  std::string order = {};
  int most = 0;
  Scope scope{loop};
};

TEST_F(Gate, TakesTurnsAmongThoseThatWait) {
  FairGate gate(loop, 1, 1);
  for (int i = 0; i < 3; ++i) come(gate, "a");
  for (int i = 0; i < 3; ++i) come(gate, "b");
  come(gate, "c");
  loop.run_for(std::chrono::minutes{1});
  EXPECT_EQ(order, "abcabab");
  EXPECT_EQ(most, 1);
}

TEST_F(Gate, HoldsEveryQueueToItsShare) {
  FairGate gate(loop, 4, 2);
  for (int i = 0; i < 6; ++i) come(gate, "a");
  loop.run_ready();
  EXPECT_EQ(order, "aa");
  come(gate, "b");
  loop.run_ready();
  EXPECT_EQ(order, "aab");
  loop.run_for(std::chrono::minutes{1});
  EXPECT_EQ(order, "aabaaaa");
  EXPECT_EQ(most, 3);
}

TEST_F(Gate, CallsInNoMoreThanItHasRoomFor) {
  FairGate gate(loop, 2, 2);
  int planned = 0;
  const auto planner = [&](int number) -> Task<void> {
    co_await gate.room();
    ++planned;
    gate.planned();
    if (number % 5 != 4) co_await visit(gate, fmt::format("{}", number % 4));  // else: no wish
  };
  for (int i = 0; i < 20; ++i) scope.spawn("planner", planner(i));
  loop.run_ready();
  EXPECT_LE(planned, 6);  // two have entered, two wait, two were called when fewer did
  loop.run_for(std::chrono::minutes{1});
  EXPECT_EQ(planned, 20);
  EXPECT_EQ(order.size(), 16u);
}

TEST_F(Gate, HoldsAllOfThemToTheWhole) {
  FairGate gate(loop, 3, 2);
  for (const auto* who : {"a", "a", "b", "b", "c", "c"}) come(gate, who);
  loop.run_ready();
  EXPECT_EQ(order, "aab");
  loop.run_for(std::chrono::minutes{1});
  EXPECT_EQ(order.size(), 6u);
  EXPECT_EQ(most, 3);
  EXPECT_EQ(gate.in_flight(), 0);
}

}  // namespace
}  // namespace manta::kube
