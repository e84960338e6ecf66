#include "sim/serve_double.h"

#include "base/virtual_loop.h"
#include "sim/ray_dashboard_double.h"

#include <gtest/gtest.h>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;

struct ServeDoubleTest : testing::Test {
  ServeDoubleTest() {
    serve.attach(loop);
    serve.head_of = [this](std::string_view) { return head; };
  }
  Result<Json> ask(Json request) {
    request.as_object()["service"] = "s-head-svc";
    return loop.run(serve.call("dashboard", std::move(request)));
  }
  Result<Json> send(int version, int capacity = 100) {
    return ask(
        {{"op", "update-serve"},
         {"config",
          {{"target_capacity", capacity},
           {"applications", JsonArray{{{"name", "a"}, {"args", {{"version", version}}}}}}}}});
  }
  std::string status() {
    return std::string(
        string_at(*ask({{"op", "serve-details"}}), {"applications", "a", "status"}, "not there"));
  }

  VirtualLoop loop;
  RayDashboardDouble rest{loop};
  ServeDouble serve{rest};
  std::string head = "head-1";
};

TEST_F(ServeDoubleTest, WhatIsSentTakesAWhileToRun) {
  EXPECT_EQ(status(), "not there");
  EXPECT_FALSE(serve.serves(head));
  ASSERT_TRUE(send(1).has_value());
  EXPECT_EQ(status(), "DEPLOYING");
  loop.run_for(serve.deploy_takes);
  EXPECT_EQ(status(), "RUNNING");
  EXPECT_TRUE(serve.serves(head));
  EXPECT_EQ(serve.sent_to("s-head-svc"), 1);
}

TEST_F(ServeDoubleTest, AnotherCapacityDeploysNothingAnew) {
  ASSERT_TRUE(send(1).has_value());
  loop.run_for(serve.deploy_takes);
  ASSERT_TRUE(send(1, 20).has_value());
  EXPECT_EQ(status(), "RUNNING");
  ASSERT_TRUE(send(2, 20).has_value());
  EXPECT_EQ(status(), "DEPLOYING");
}

TEST_F(ServeDoubleTest, ANewHeadHasForgottenItUnlessItIsFaultTolerant) {
  ASSERT_TRUE(send(1).has_value());
  head = "head-2";
  EXPECT_EQ(status(), "not there");
  serve.fault_tolerant = true;
  ASSERT_TRUE(send(1).has_value());
  head = "head-3";
  EXPECT_EQ(status(), "DEPLOYING");
}

TEST_F(ServeDoubleTest, ItSaysWhatItIsToldToSay) {
  ASSERT_TRUE(send(1).has_value());
  serve.says["a"] = "UNHEALTHY";
  EXPECT_EQ(status(), "UNHEALTHY");
  serve.says["a"] = "";
  EXPECT_EQ(status(), "not there");
}

TEST_F(ServeDoubleTest, WhoRefusesConfigsStillAnswers) {
  serve.refusing.insert("s-head-svc");
  EXPECT_EQ(send(1).error().code, ErrorCode::BadRequest);
  EXPECT_EQ(status(), "not there");
  serve.down.insert("s-head-svc");
  EXPECT_EQ(ask({{"op", "serve-details"}}).error().code, ErrorCode::Unavailable);
  EXPECT_TRUE(serve.sent().empty());
}

TEST_F(ServeDoubleTest, QuestionsAboutJobsGoOn) {
  rest.head_of = serve.head_of;
  ASSERT_TRUE(ask({{"op", "submit-job"}, {"job", {{"submission_id", "j"}}}}).has_value());
  EXPECT_EQ(rest.status_of("j"), "RUNNING");
  EXPECT_EQ(serve.questions(), 0u);
}

}  // namespace
}  // namespace manta::sim
