#include "controllers/rayjob/deadlines.h"

#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::troubled;
using testing::World;

TEST(RayJob, DeadlinePasses) {
  World world;
  world.job.spec.activeDeadlineSeconds = 100;
  world.job.spec.backoffLimit = 2;  // a deadline is final
  world.ready().ray_says("RUNNING").pass_time(std::chrono::seconds{100});
  EXPECT_EQ(world.state(), "Failed/RUNNING/DeadlineExceeded");
  EXPECT_EQ(world.job.status.failed, 1);
}

TEST(RayJob, AsksToBeLookedAtWhenItsDeadlinePasses) {
  World world;
  world.job.spec.activeDeadlineSeconds = 100;
  world.ready();
  EXPECT_EQ(world.look().look_again, std::chrono::seconds{100});
}

TEST(RayJob, DeadDashboardFailsItAfterAWhile) {
  World world;
  world.ready().ray_fails(ErrorCode::Unavailable);
  EXPECT_EQ(world.job.status.jobStatusCheckFailureStartTime, world.now);
  world.pass_time(std::chrono::seconds{299});
  EXPECT_EQ(world.state(), "Running//");
  world.ray_says("RUNNING");
  EXPECT_FALSE(world.job.status.jobStatusCheckFailureStartTime);
  world.ray_fails(ErrorCode::Timeout).pass_time(std::chrono::seconds{300});
  EXPECT_EQ(world.state(), "Failed/RUNNING/JobStatusCheckTimeoutExceeded");
}

TEST(RayJob, FailingChecksAreToldBeforeTheyFailIt) {
  World world;
  world.ready().ray_says("RUNNING");
  world.facts["job-info"] = {
      .answer = failed(ErrorCode::Internal, "GetJobInfo fail: " + std::string(5000, 'x')),
      .at = world.now};
  world.settle().pass_time(std::chrono::seconds{29});
  EXPECT_EQ(world.notices(), "");
  world.pass_time(std::chrono::seconds{1});
  ASSERT_EQ(world.notices(), "DashboardSilent");
  const auto words = world.job.status.conditions.at(0).message;
  EXPECT_NE(words.find("failing since"), std::string::npos) << words;
  EXPECT_NE(words.find("GetJobInfo fail: xxx"), std::string::npos) << words;
  EXPECT_LT(words.size(), 400u);
  world.ray_fails(ErrorCode::Timeout);
  EXPECT_EQ(world.job.status.conditions.at(0).message, words) << "no write at each check";
  world.ray_says("RUNNING");
  EXPECT_EQ(world.notices(), "");
  EXPECT_EQ(world.state(), "Running/RUNNING/");
}

TEST(RayJob, AnAnswerThatIsNoneIsTold) {
  World world;
  world.ready();
  world.facts["job-info"] = {.answer = parse_json(R"({"status":7})").value(), .at = world.now};
  world.settle().pass_time(std::chrono::seconds{30});
  ASSERT_EQ(world.notices(), "DashboardSilent");
  EXPECT_NE(world.job.status.conditions.at(0).message.find("status as 7"), std::string::npos);
}

TEST(RayJobHttp, ARefusedSubmissionIsTold) {
  World world("HTTPMode");
  world.ready();
  world.failures = {{"submit", {.error = {.message = "the agent is not up"}, .attempts = 1}}};
  world.ray_fails(ErrorCode::NotFound).pass_time(std::chrono::seconds{30});
  ASSERT_EQ(world.notices(), "DashboardSilent");
  EXPECT_NE(world.job.status.conditions.at(0).message.find("the agent is not up"),
            std::string::npos);
  world.pass_time(std::chrono::seconds{270});
  EXPECT_EQ(world.state(), "Failed//JobStatusCheckTimeoutExceeded");
  EXPECT_TRUE(world.job.status.message.ends_with("the agent is not up"));
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobGate, Patience) {  // RJ-10
  World world("HTTPMode");
  world.settings.job_gates.patience = true;
  world.ready().ray_fails(ErrorCode::Timeout).pass_time(std::chrono::seconds{360});
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.notices(), "DashboardSilent");
  EXPECT_FALSE(world.look().look_again) << "of what has come nothing is to be waited for";
  world.ray_says("RUNNING");
  EXPECT_EQ(world.notices(), "");
  world.ray_fails(ErrorCode::Timeout);
  world.heads.clear();
  world.pass_time(std::chrono::seconds{360});
  EXPECT_EQ(world.state(), "Failed/RUNNING/JobStatusCheckTimeoutExceeded");
}

TEST(RayJobGate, StopAtDeadline) {  // RJ-11
  World world("HTTPMode");
  world.settings.job_gates.stop_at_deadline = true;
  world.job.spec.activeDeadlineSeconds = 100;
  world.ready().ray_says("RUNNING");
  world.written();
  world.now += std::chrono::seconds{100};
  const auto plan = world.look();
  EXPECT_EQ(string_at(plan.stages.at(0).at(0).body, {"op"}), "stop-job");
  EXPECT_FALSE(plan.status);
  world.ray_says("STOPPED");
  EXPECT_EQ(world.state(), "Failed/STOPPED/DeadlineExceeded");
}

TEST(RayJobGate, StopAtDeadlineGivesUpOnASilentRay) {
  World world("HTTPMode");
  world.settings.job_gates.stop_at_deadline = true;
  world.job.spec.activeDeadlineSeconds = 100;
  world.ready().ray_fails(ErrorCode::Timeout).pass_time(std::chrono::seconds{129});
  EXPECT_EQ(world.state(), "Running//");
  world.pass_time(std::chrono::seconds{1});
  EXPECT_EQ(world.state(), "Failed//DeadlineExceeded");
}

TEST(RayJobGate, TotalDeadline) {  // RJ-17
  for (const bool total : {false, true}) {
    World world;
    world.settings.job_gates.total_deadline = total;
    world.job.spec.backoffLimit = 2;
    world.job.spec.activeDeadlineSeconds = 60;
    world.ready();
    world.now += std::chrono::seconds{50};
    world.facts["job-info"] = {.answer = parse_json(R"({"status":"FAILED"})").value(),
                               .at = world.now};
    world.submitter_ends();
    world.facts.clear();
    world.ready().pass_time(std::chrono::seconds{10});
    EXPECT_EQ(world.state(), total ? "Failed//DeadlineExceeded" : "Running//");
  }
}

TEST(RayJobGate, WaitingWindow) {  // RJ-18
  for (const bool window : {false, true}) {
    World world("InteractiveMode");
    world.settings.job_gates.waiting_window = window;
    world.job.spec.preRunningDeadlineSeconds = 60;
    world.settle().pass_time(std::chrono::seconds{50}).ready();
    world.pass_time(std::chrono::seconds{10});
    EXPECT_EQ(world.state(), window ? "Waiting//" : "Failed//PreRunningDeadlineExceeded");
    world.pass_time(std::chrono::seconds{50});
    EXPECT_EQ(world.state(), "Failed//PreRunningDeadlineExceeded");
  }
}

TEST(RayJobGate, HeadInitFailure) {  // RJ-37
  World world;
  world.settings.job_gates.head_init_failure = true;
  world.settle();
  for (int n = 1; n <= 3; ++n) {
    EXPECT_EQ(world.state(), "Initializing//");
    world.heads = {troubled(raycluster::testing::head({}, fmt::format("h-{}", n)),
                            "init container setup exited with code 42: Error")};
    world.settle();
  }
  EXPECT_EQ(world.state(), "Failed//AppFailed");
  EXPECT_NE(world.job.status.message.find("setup exited with code 42"), std::string::npos);
}

}  // namespace
}  // namespace manta::controllers::rayjob
