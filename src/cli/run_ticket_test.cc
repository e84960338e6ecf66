#include "cli/run_ticket.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>

namespace manta::cli {
namespace {

class RunTicketTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/manta-ticket-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    paths_.home = name;
  }
  void TearDown() override { std::filesystem::remove_all(paths_.home); }

  Paths paths_ = {};
  HeldSignals held_ = {};
};

TEST_F(RunTicketTest, OnlyTheLastOneOutIsTheLast) {
  auto first = RunTicket::take(paths_, held_);
  ASSERT_TRUE(first);
  {
    auto second = RunTicket::take(paths_, held_);
    ASSERT_TRUE(second);
    EXPECT_FALSE(first->is_last());
    EXPECT_TRUE(second->is_last()) << "the first has given its own back";
  }
  auto third = RunTicket::take(paths_, held_);
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->is_last());
}

TEST_F(RunTicketTest, TheDaemonSeesWhenNoRunIsLeft) {
  {
    auto run = RunTicket::take(paths_, held_);
    ASSERT_TRUE(run);
    EXPECT_FALSE(RunTicket::take_if_no_run(paths_));
  }
  const auto daemon = RunTicket::take_if_no_run(paths_);
  EXPECT_TRUE(daemon);
}

TEST_F(RunTicketTest, ASignalEndsTheWait) {
  auto first = RunTicket::take(paths_, held_);
  ASSERT_TRUE(first && first->is_last());
  ::raise(SIGTERM);  // held back
  auto second = RunTicket::take(paths_, held_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Cancelled);
}

TEST_F(RunTicketTest, AFolderThatIsNotThereIsAnError) {
  paths_.home /= "missing";
  const auto ticket = RunTicket::take(paths_, held_);
  ASSERT_FALSE(ticket);
  EXPECT_NE(ticket.error().message.find("runs.lock"), std::string::npos);
}

}  // namespace
}  // namespace manta::cli
