#include "sim/ray_dashboard_double.h"

#include "base/virtual_loop.h"

#include <gtest/gtest.h>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;

struct RayDashboardDoubleTest : testing::Test {
  RayDashboardDoubleTest() {
    ray.head_of = [this](std::string_view) { return head; };
  }
  Result<Json> ask(Json request) { return loop.run(ray.call("dashboard", std::move(request))); }
  Result<Json> details() { return ask({{"op", "job-info"}, {"job_id", "j"}}); }
  Result<Json> submit() { return ask({{"op", "submit-job"}, {"job", {{"submission_id", "j"}}}}); }

  VirtualLoop loop;
  RayDashboardDouble ray{loop};
  std::string head = "head-1";
};

TEST_F(RayDashboardDoubleTest, AJobRunsUntilItIsSaidToHaveEnded) {
  ASSERT_TRUE(submit().has_value());
  EXPECT_EQ(string_at(*details(), {"status"}), "RUNNING");
  EXPECT_EQ(find(*details(), {"end_time"}), nullptr);
  ray.set("j", "SUCCEEDED");
  EXPECT_EQ(string_at(*details(), {"status"}), "SUCCEEDED");
  EXPECT_NE(find(*details(), {"end_time"}), nullptr);
  EXPECT_TRUE(ray.succeeded().contains("j"));
}

TEST_F(RayDashboardDoubleTest, AnIdIsTakenOnceByOneHead) {
  ASSERT_TRUE(submit().has_value());
  ASSERT_TRUE(submit().has_value());
  EXPECT_EQ(ray.submissions().size(), 1u);
  head = "head-2";
  EXPECT_EQ(details().error().code, ErrorCode::NotFound) << "a new head has forgotten it";
  ASSERT_TRUE(submit().has_value());
  EXPECT_EQ(ray.submissions().size(), 2u);
  EXPECT_EQ(ray.head_with("j"), "head-2");
}

TEST_F(RayDashboardDoubleTest, AStopEndsOnlyWhatRuns) {
  ASSERT_TRUE(submit().has_value());
  const Json stop{{"op", "stop-job"}, {"job_id", "j"}};
  ASSERT_TRUE(ask(stop).has_value());
  EXPECT_EQ(ray.status_of("j"), "STOPPED");
  ray.set("j", "FAILED");
  ASSERT_TRUE(ask(stop).has_value());
  EXPECT_EQ(ray.status_of("j"), "FAILED");
  EXPECT_EQ(ray.stops().size(), 2u);
}

TEST_F(RayDashboardDoubleTest, ItFailsAsItsMoodIs) {
  ray.mood = RayDashboardDouble::Mood::ServerError;
  EXPECT_EQ(submit().error().code, ErrorCode::Internal);
  ray.mood = RayDashboardDouble::Mood::Hangs;
  const auto asked = loop.now();
  EXPECT_EQ(submit().error().code, ErrorCode::Timeout);
  EXPECT_EQ(loop.now() - asked, Duration{2s});
  ray.mood = RayDashboardDouble::Mood::Answers;
  head.clear();
  EXPECT_EQ(submit().error().code, ErrorCode::Unavailable);
  EXPECT_TRUE(ray.submissions().empty());
}

}  // namespace
}  // namespace manta::sim
