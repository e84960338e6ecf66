// Running: what Ray and the submitter say.
#include "controllers/rayjob/states.h"
#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::World;

TEST(RayJob, FailedApplicationIsAppFailed) {
  World world;
  world.ready().ray_says("FAILED").submitter_ends();
  EXPECT_EQ(world.state(), "Failed/FAILED/AppFailed");
  EXPECT_EQ(world.job.status.failed, 1);
}

TEST(RayJob, FailedSubmitterIsSubmissionFailed) {
  World world;
  world.ready()
      .ray_fails(ErrorCode::Unavailable)
      .submitter_ends("Failed")
      .pass_time(std::chrono::seconds{4});
  EXPECT_EQ(world.state(), "Running//");  // Ray may know better
  world.pass_time(std::chrono::seconds{1});
  EXPECT_EQ(world.state(), "Failed//SubmissionFailed");
}

// A sidecar runs as soon as its head does, and may have ended minutes before all workers are ready.
TEST(RayJob, SubmitterThatFailedBeforeRayWasAskedWaitsForTheFirstAnswer) {
  const auto ended_early = [] {
    World world;
    world.ready();
    world.now += std::chrono::minutes{2};
    world.submitter->conditions = {{.type = "Failed",
                                    .status = "True",
                                    .lastTransitionTime = world.now - std::chrono::minutes{1}}};
    world.settle();
    EXPECT_EQ(world.state(), "Running//");
    return world;
  };
  EXPECT_EQ(ended_early().ray_says("FAILED").state(), "Failed/FAILED/AppFailed");
  EXPECT_EQ(ended_early().ray_fails(ErrorCode::Unavailable).state(), "Failed//SubmissionFailed");
}

TEST(RayJob, SubmitterThatFailedWithItsJobIsAppFailed) {
  World world;
  world.ready().ray_says("RUNNING").submitter_ends("Failed");
  EXPECT_EQ(world.state(), "Running/RUNNING/");  // Ray was asked before that
  world.pass_time(std::chrono::seconds{2}).ray_says("FAILED");
  EXPECT_EQ(world.state(), "Failed/FAILED/AppFailed");
}

TEST(RayJob, SubmitterThatFailedByAClockAheadOfOursIsNotWaitedFor) {
  World world;
  world.ready().ray_says("RUNNING");
  world.now += std::chrono::hours{1};
  world.submitter->conditions = {
      {.type = "Failed", .status = "True", .lastTransitionTime = world.now}};
  world.now -= std::chrono::hours{1};
  world.settle();
  EXPECT_EQ(world.state(), "Failed/RUNNING/SubmissionFailed");
}

TEST(RayJob, UnknownJobFailsWhenItsSubmitterHasEnded) {
  World world;
  world.ready().ray_fails(ErrorCode::NotFound);
  EXPECT_EQ(world.state(), "Running//");
  world.submitter_ends().pass_time(std::chrono::seconds{5});
  EXPECT_EQ(world.state(), "Failed//AppFailed");
}

// A head that restarted has forgotten it, and the Job was deleted by hand.
TEST(RayJob, UnknownJobThatNobodyWillSubmitIsAFailedCheck) {
  World world;
  world.ready().ray_says("RUNNING");
  world.submitter.reset();
  world.settle();
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  world.ray_fails(ErrorCode::NotFound);
  EXPECT_EQ(world.job.status.jobStatusCheckFailureStartTime, world.now);
  EXPECT_EQ(world.notices(), "");
  world.pass_time(std::chrono::seconds{30});
  ASSERT_EQ(world.notices(), "JobUnknown");
  const auto words = world.job.status.conditions.at(0).message;
  EXPECT_NE(words.find("its submitter Job ns/j is not there any more"), std::string::npos) << words;
  world.ray_fails(ErrorCode::Timeout);
  EXPECT_EQ(world.notices(), "JobUnknown") << "no event at each turn";
  world.ray_fails(ErrorCode::NotFound);
  world.pass_time(std::chrono::seconds{269});
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  world.pass_time(std::chrono::seconds{1});
  EXPECT_EQ(world.state(), "Failed/RUNNING/JobStatusCheckTimeoutExceeded");
  EXPECT_EQ(world.notices(), "");
  EXPECT_TRUE(world.job.status.message.ends_with(words)) << world.job.status.message;
}

TEST(RayJob, IsFollowedToItsEndWithoutItsSubmitter) {
  World world;
  world.ready().ray_says("RUNNING");
  world.submitter.reset();
  world.ray_fails(ErrorCode::NotFound).pass_time(std::chrono::seconds{60});
  world.ray_says("RUNNING");  // the head's dashboard had not read its store yet
  EXPECT_EQ(world.notices(), "");
  EXPECT_FALSE(world.job.status.jobStatusCheckFailureStartTime);
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
}

TEST(RayJob, UnknownJobWaitsForASubmitterThatIsThere) {
  World world;
  world.ready().ray_fails(ErrorCode::NotFound).pass_time(std::chrono::hours{1});
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_FALSE(world.job.status.jobStatusCheckFailureStartTime);
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobGate, PatienceDoesNotWaitForWhatRayHasForgotten) {
  World world;
  world.settings.job_gates.patience = true;
  world.ready().ray_says("RUNNING");
  world.submitter.reset();
  world.ray_fails(ErrorCode::NotFound).pass_time(std::chrono::seconds{300});
  EXPECT_EQ(world.state(), "Failed/RUNNING/JobStatusCheckTimeoutExceeded");
}

TEST(RayJobInteractive, UnknownJobWaitsForItsUserAndSaysSo) {
  World world("InteractiveMode");
  world.ready();
  world.job.spec.jobId = "mine";
  world.settle().ray_fails(ErrorCode::NotFound);
  world.facts["job-info"].failing_since = world.now;
  world.pass_time(std::chrono::seconds{29});
  EXPECT_EQ(world.notices(), "");
  world.pass_time(std::chrono::hours{1});
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.notices(), "JobUnknown");
  world.ray_says("RUNNING");
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobSidecar, UnknownJobFailsWhereNoContainerSubmitsIt) {
  World world("SidecarMode");
  world.ready().ray_fails(ErrorCode::NotFound).pass_time(std::chrono::seconds{300});
  EXPECT_EQ(world.state(), "Failed//JobStatusCheckTimeoutExceeded");
  EXPECT_NE(world.job.status.message.find("without a container ray-job-submitter"),
            std::string::npos)
      << world.job.status.message;
}

TEST(RayJob, LateOperatorStillSeesTheSuccess) {
  World world;
  world.ready().ray_says("RUNNING").submitter_ends();
  world.facts.clear();  // a new process has not asked yet
  world.pass_time(std::chrono::minutes{5});
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
}

TEST(RayJob, SubmitterThatEndedLongBeforeTheJobIsSaidAndNoEnd) {  // RJ-05
  World world;
  world.ready().ray_says("RUNNING").submitter_ends().pass_time(std::chrono::seconds{30});
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  EXPECT_EQ(world.notices(), "SubmitterEnded");
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJob, SubmitterThatEndedLongBeforeTheJobFailsItWhereTheGraceIsSet) {
  World world;
  world.settings.job_grace_is_set = true;
  world.ready().ray_says("RUNNING").submitter_ends().pass_time(std::chrono::seconds{29});
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  world.pass_time(std::chrono::seconds{1});
  EXPECT_EQ(world.state(), "Failed/FAILED/JobDeploymentStatusTransitionGracePeriodExceeded");
}

// spec/04 §2.1: the submitter's end is looked at before the dashboard's client is made.
TEST(RayJob, WhoseClustersTokenIsMissingIsToldAndEndsWhereTheGraceIsSet) {
  for (const bool set : {false, true}) {
    World world;
    world.settings.job_grace_is_set = set;
    world.ready();
    auto cluster = *world.cluster;
    cluster.spec.authOptions = ray::AuthOptions{.mode = "token"};
    world.cluster = std::make_shared<ray::RayCluster>(cluster);
    world.settle();
    EXPECT_EQ(world.notices(), "DashboardSilent");
    const auto without = world.cluster;
    world.cluster = std::make_shared<ray::RayCluster>(*without);
    world.cluster->spec.authOptions.reset();
    EXPECT_EQ(world.settle().notices(), "") << "it can be asked again, whatever it says";
    world.cluster = without;
    world.submitter_ends().pass_time(std::chrono::seconds{30});
    EXPECT_EQ(world.state(),
              set ? "Failed/FAILED/JobDeploymentStatusTransitionGracePeriodExceeded" : "Running//");
  }
}

// spec/04 §5.3: nothing of the old spec stays but the address.
TEST(RayJob, ItsHeadServiceIsTurnedWholeToAnotherCluster) {
  World world;
  world.ready();
  auto service = *world.service;
  service.meta.uid = "svc-uid";
  service.type = "NodePort";
  service.clusterIP = "10.96.0.7";
  service.selector = {{"ray.io/cluster", "before"}};
  world.service = std::make_shared<kube::ServiceView>(service);
  const auto plan = world.look();
  ASSERT_FALSE(plan.stages.empty());
  const auto& turned = plan.stages[0][0];
  EXPECT_EQ(turned.patch_type, kube::PatchType::Json);
  const auto& ops = array_at(turned.body, {});
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(string_at(ops[0], {"value"}), "svc-uid");
  EXPECT_EQ(string_at(ops[1], {"path"}), "/spec");
  EXPECT_EQ(string_at(ops[1], {"value", "clusterIP"}), "10.96.0.7");
  EXPECT_EQ(string_at(ops[1], {"value", "selector", "ray.io/cluster"}),
            world.cluster->meta.key.name);
  EXPECT_EQ(string_at(ops[1], {"value", "type"}), "");
}

TEST(RayJobHttp, SubmitsOnceRayDoesNotKnowTheJob) {
  World world("HTTPMode");
  world.ready();
  EXPECT_EQ(world.written(), "patch rayjobs, create rayclusters, create services");
  world.ray_fails(ErrorCode::NotFound);
  EXPECT_EQ(world.written(), "call submit-job");
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
}

TEST(RayJobHttp, RefusedSubmissionRunsAgainstTheClock) {
  World world("HTTPMode");
  world.ready();
  world.failures = {{"submit", {.attempts = 1}}};
  world.ray_fails(ErrorCode::NotFound);
  EXPECT_TRUE(world.job.status.jobStatusCheckFailureStartTime);
}

TEST(RayJobSidecar, LostHeadFailsIt) {
  World world("SidecarMode");
  world.ready().ray_says("RUNNING");
  world.heads.clear();
  world.settle();
  EXPECT_EQ(world.state(), "Failed/RUNNING/AppFailed");
}

TEST(RayJob, SubmitterThatFailedAfterASuccessIsForRayToJudge) {
  World world;
  world.ready().ray_says("SUCCEEDED").submitter_ends("Failed");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
}

TEST(RayJob, AFailureThatOnlyRayToldHasRaysWords) {
  World world;
  world.ready();
  world.facts["job-info"] = {
      .answer =
          parse_json(R"({"status":"FAILED","message":"boom","end_time":1700000000000})").value(),
      .at = world.now};
  world.submitter_ends("Failed");
  EXPECT_EQ(world.state(), "Failed/FAILED/AppFailed");
  EXPECT_EQ(world.job.status.message, "boom");
  EXPECT_TRUE(world.job.status.rayJobInfo.endTime);
}

TEST(RayJob, OfALongMessageTheErrorStays) {
  World world;
  world.ready()
      .ray_says("FAILED", fmt::format(R"(,"message":"exit code 1, last logs:\n{}\nKeyError: 7")",
                                      std::string(20'000, 'x')))
      .submitter_ends();
  EXPECT_EQ(world.state(), "Failed/FAILED/AppFailed");
  const auto& message = world.job.status.message;
  EXPECT_LE(message.size(), 8192u);
  EXPECT_TRUE(message.starts_with("exit code 1, last logs: … (")) << message;
  EXPECT_TRUE(message.ends_with("\nKeyError: 7")) << message;
}

TEST(RayJob, AJobThatRunsAgainHasNoEnd) {
  World world;
  world.ready().ray_says("FAILED", R"(,"end_time":4102444800000)");
  ASSERT_TRUE(world.job.status.rayJobInfo.endTime);
  world.ray_says("RUNNING");
  EXPECT_FALSE(world.job.status.rayJobInfo.endTime);
}

TEST(RayJobGate, CountLostHeads) {  // RJ-04
  World world("HTTPMode");
  world.settings.job_gates.count_lost_heads = true;
  world.ready().ray_says("RUNNING").ray_fails(ErrorCode::NotFound);
  EXPECT_EQ(world.state(), "Failed/RUNNING/AppFailed");
}

}  // namespace
}  // namespace manta::controllers::rayjob
