#include "controllers/rayjob/plan.h"

#include "controllers/raycluster/testing.h"
#include "ray/labels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::rayjob {
namespace {

using kube::WriteKind;
using raycluster::testing::kNow;

// A RayJob's world that carries out what the plans want, except for what others do: tests say that.
struct World {
  ray::RayJob job = {};
  std::shared_ptr<ray::RayCluster> cluster = {};
  std::shared_ptr<kube::JobView> submitter = {};
  std::shared_ptr<kube::ServiceView> service = {};
  raycluster::Pods heads = {raycluster::testing::head()};
  raycluster::Pods workers = {};
  raycluster::Pods submitter_pods = {};
  std::shared_ptr<const ray::RayJob> last_valid = {};
  kube::Facts facts = {};
  kube::Failures failures = {};
  Settings settings = {};
  Time now = kNow;
  std::vector<std::string> log = {};  // what was written

  explicit World(std::string_view mode = "K8sJobMode") {
    job.meta = {.key = {"ns", "j"}, .uid = "j-uid", .resource_version = 1, .generation = 1};
    job.spec.entrypoint = "python a.py";
    job.spec.submissionMode = mode;
    job.spec.shutdownAfterJobFinishes = true;
    job.spec.rayClusterSpec = raycluster::testing::cluster().spec;
  }

  RayJobSeen seen() const {
    RayJobSeen out{.job = std::make_shared<const ray::RayJob>(job),
                   .cluster = cluster,
                   .service = service,
                   .submitter = submitter,
                   .submitter_pods = submitter_pods,
                   .pods = heads,
                   .heads = heads,
                   .last_valid = last_valid};
    out.pods.insert(out.pods.end(), workers.begin(), workers.end());
    if (cluster) {
      auto head_service = *raycluster::testing::head_service();
      head_service.meta.key.name = cluster->meta.key.name + "-head-svc";
      out.cluster_service = std::make_shared<const kube::ServiceView>(head_service);
    }
    return out;
  }
  kube::Plan look() const {
    return plan(seen(), settings, {.now = now, .facts = facts, .failures = failures});
  }

  void make(const kube::Write& write) {
    const auto verb = write.kind == WriteKind::Create     ? "create"
                      : write.kind == WriteKind::Delete   ? "delete"
                      : write.kind == WriteKind::External ? "call"
                                                          : "patch";
    const auto what = write.kind == WriteKind::External ? std::string(string_at(write.body, {"op"}))
                                                        : write.resource.plural;
    log.push_back(fmt::format("{} {}", verb, what));
    if (what == "rayclusters" && write.kind == WriteKind::Create) {
      cluster = std::make_shared<ray::RayCluster>(*ray::parse_ray_cluster(write.body));
      cluster->meta.uid = cluster->meta.key.name + "-uid";
    }
    if (what == "rayclusters" && write.kind == WriteKind::Delete) cluster.reset();
    if (what == "jobs" && write.kind == WriteKind::Create)
      submitter = std::make_shared<kube::JobView>();
    if (what == "jobs" && write.kind == WriteKind::Delete) submitter.reset();
    if (what == "services") {
      service = std::make_shared<kube::ServiceView>();
      service->meta.owners = {{"ray.io/v1", "RayJob", "j", "j-uid", true, true}};
      service->selector = {{"ray.io/cluster", cluster->meta.key.name}};
    }
    if (what == "rayjobs" && write.kind == WriteKind::Patch) {
      job.meta.finalizers.clear();
      for (const auto& name : array_at(write.body, {"metadata", "finalizers"}))
        job.meta.finalizers.emplace_back(name.get_string());
    }
    if (what == "submit-job") facts.clear();
  }

  // Until the plan wants nothing more.
  World& settle() {
    for (int pass = 0; pass < 50; ++pass) {
      const auto wanted = look();
      bool any = false;
      for (const auto& stage : wanted.stages)
        for (const auto& write : stage) {
          if (failures.contains(write.lane)) continue;
          make(write);
          any = true;
        }
      if (any) continue;
      if (!wanted.status) return *this;
      job.status =
          ray::parse_part<ray::RayJobStatus>(wanted.status->body.at("status"), "status").value();
    }
    ADD_FAILURE() << "does not settle";
    return *this;
  }
  World& ready() {
    settle();
    cluster->status.state = "ready";
    return settle();
  }
  World& ray_says(std::string_view status, std::string_view rest = "") {
    facts["job-info"] = {
        .answer = parse_json(fmt::format(R"({{"status":"{}"{}}})", status, rest)).value(),
        .at = now};
    return settle();
  }
  World& ray_fails(ErrorCode code) {
    facts["job-info"] = {.answer = failed(code, "no"), .at = now};
    return settle();
  }
  World& submitter_ends(std::string_view how = "Complete") {
    submitter->conditions = {{.type = std::string(how),
                              .status = "True",
                              .reason = "R",
                              .message = "M",
                              .lastTransitionTime = now}};
    return settle();
  }
  World& pass_time(std::chrono::seconds span) {
    now += span;
    return settle();
  }
  std::string state() const {
    return fmt::format("{}/{}/{}", job.status.jobDeploymentStatus, job.status.jobStatus,
                       job.status.reason);
  }
  std::string notices() const {
    std::vector<std::string> types;
    for (const auto& condition : job.status.conditions) types.push_back(condition.type);
    return fmt::format("{}", fmt::join(types, ", "));
  }
  std::string written() {
    auto text = fmt::format("{}", fmt::join(log, ", "));
    log.clear();
    return text;
  }
};

TEST(RayJob, RunsToItsEnd) {
  World world;
  world.settle();
  EXPECT_EQ(world.written(), "patch rayjobs, create rayclusters");
  EXPECT_EQ(world.state(), "Initializing//");
  world.ready();
  EXPECT_EQ(world.written(), "create jobs, create services");
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.job.status.dashboardURL,
            world.cluster->meta.key.name + "-head-svc.ns.svc.cluster.local:8265");
  world.ray_says("RUNNING");
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Running/SUCCEEDED/");  // the submitter still streams logs
  world.submitter_ends();
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_EQ(world.job.status.succeeded, 1);
  EXPECT_EQ(world.written(), "delete rayclusters");  // the submitter's logs stay readable
}

TEST(RayJob, FailedApplicationIsAppFailed) {
  World world;
  world.ready().ray_says("FAILED").submitter_ends();
  EXPECT_EQ(world.state(), "Failed/FAILED/AppFailed");
  EXPECT_EQ(world.job.status.failed, 1);
}

TEST(RayJob, FailedSubmitterIsSubmissionFailed) {
  World world;
  world.ready().submitter_ends("Failed").pass_time(std::chrono::seconds{4});
  EXPECT_EQ(world.state(), "Running//");  // Ray may know better
  world.pass_time(std::chrono::seconds{1});
  EXPECT_EQ(world.state(), "Failed//SubmissionFailed");
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

TEST(RayJobRetry, SecondAttemptGetsItsOwnCluster) {
  World world;
  world.job.spec.backoffLimit = 1;
  world.ready();
  const auto first = world.job.status.rayClusterName;
  world.written();
  world.now += std::chrono::seconds{60};
  world.facts["job-info"] = {.answer = parse_json(R"({"status":"FAILED"})").value(),
                             .at = world.now};
  world.submitter_ends();
  EXPECT_EQ(world.written(), "delete rayclusters, delete jobs, create rayclusters");
  EXPECT_NE(world.job.status.rayClusterName, first);
  EXPECT_EQ(world.state(), "Initializing//");
  EXPECT_EQ(world.job.status.failed, 1);
  world.facts.clear();
  world.ready().ray_says("SUCCEEDED").submitter_ends();
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_EQ(world.job.status.failed, 1);
  EXPECT_EQ(world.job.status.succeeded, 1);
}

TEST(RayJobSuspend, TakesEverythingDownAndStartsAnew) {
  World world;
  world.ready().ray_says("RUNNING");
  const auto first = world.job.status;
  world.written();
  world.job.spec.suspend = true;
  world.settle();
  EXPECT_EQ(world.state(), "Suspended//");
  EXPECT_EQ(world.written(), "delete rayclusters, delete jobs");
  EXPECT_EQ(world.job.status.rayClusterName, "");
  EXPECT_FALSE(world.look().look_again);  // RJ-23: nothing to poll
  world.facts.clear();
  world.now += std::chrono::seconds{60};
  world.job.spec.suspend = false;
  world.ready();
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_NE(world.job.status.jobId, first.jobId);
  EXPECT_NE(world.job.status.rayClusterName, first.rayClusterName);
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

TEST(RayJobInteractive, WaitsForTheUsersJob) {
  World world("InteractiveMode");
  world.ready();
  EXPECT_EQ(world.state(), "Waiting//");
  EXPECT_EQ(world.job.status.jobId, "");
  world.job.spec.jobId = "mine";
  world.settle().ray_says("STOPPED");
  EXPECT_EQ(world.state(), "Complete/STOPPED/");
  EXPECT_EQ(world.job.status.succeeded, 0);
}

TEST(RayJobSidecar, LostHeadFailsIt) {
  World world("SidecarMode");
  world.ready().ray_says("RUNNING");
  world.heads.clear();
  world.settle();
  EXPECT_EQ(world.state(), "Failed/RUNNING/AppFailed");
}

// The cluster was up and has lost its head before the RayJob looked: upstream waits for ever.
TEST(RayJobSidecar, HeadLostBeforeItWasSeenReadyFailsIt) {
  const auto lost = [](std::string_view mode, bool provisioned, bool head_known, bool suspended) {
    World world(mode);
    world.settle();
    world.heads.clear();
    if (suspended) world.cluster->spec.suspend = true;
    const std::string_view is_provisioned = provisioned ? "True" : "False";
    world.cluster->status.conditions = {
        {.type = "RayClusterProvisioned", .status = std::string(is_provisioned)},
        {.type = "HeadPodReady",
         .status = "False",
         .reason = head_known ? "ContainersNotReady" : "HeadPodNotFound"}};
    return world.settle().state();
  };
  EXPECT_EQ(lost("SidecarMode", true, false, false), "Failed//AppFailed");
  EXPECT_EQ(lost("SidecarMode", false, false, false), "Initializing//");  // its first head comes
  EXPECT_EQ(lost("SidecarMode", true, true, false), "Initializing//");    // our news are older
  EXPECT_EQ(lost("SidecarMode", true, false, true), "Initializing//");    // comes when it wakes
  EXPECT_EQ(lost("HTTPMode", true, false, false), "Initializing//");      // another head comes
}

TEST(RayJobValidation, InvalidSpecIsSaidAndRecoversWhenPutRight) {  // RJ-20
  World world;
  world.job.spec.ttlSecondsAfterFinished = -1;
  EXPECT_EQ(world.look().events.at(0).reason, "InvalidRayJobSpec");
  world.settle();
  EXPECT_EQ(world.state(), "ValidationFailed//ValidationFailed");
  EXPECT_FALSE(world.look().look_again);
  world.job.spec.ttlSecondsAfterFinished = 0;
  world.ready();
  EXPECT_EQ(world.state(), "Running//");
}

TEST(RayJobDeletion, StopsTheJobThenLetsGo) {
  World world;
  world.ready().ray_says("RUNNING");
  world.written();
  world.job.meta.deleting = world.now;
  world.settle();
  EXPECT_EQ(world.written(), "call stop-job, patch rayjobs");
}

TEST(RayJobDeletion, FinishedJobIsNotStopped) {
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready().ray_says("SUCCEEDED");
  world.written();
  world.job.meta.deleting = world.now;
  world.settle();
  EXPECT_EQ(world.written(), "patch rayjobs");
}

TEST(RayJobCleanup, WaitsForItsTime) {
  World world("HTTPMode");
  world.job.spec.ttlSecondsAfterFinished = 10;
  world.ready().ray_says("SUCCEEDED");
  EXPECT_TRUE(world.cluster);
  EXPECT_EQ(world.look().look_again, std::chrono::seconds{10});
  world.pass_time(std::chrono::seconds{10});
  EXPECT_FALSE(world.cluster);
}

ray::DeletionRule rule(std::string policy, std::int32_t seconds) {
  return {.policy = std::move(policy),
          .condition = {.jobStatus = "SUCCEEDED", .ttlSeconds = seconds}};
}

TEST(RayJobCleanup, RulesActInTurn) {
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.job.spec.deletionStrategy = {
      .deletionRules = {rule("DeleteWorkers", 5), rule("DeleteCluster", 20)}};
  world.ready().ray_says("SUCCEEDED");
  world.written();
  world.now += std::chrono::seconds{5};
  const auto plan = world.look();
  EXPECT_EQ(plan.stages.at(0).at(0).done_event->reason, "UpdatedRayCluster");
  EXPECT_EQ(plan.look_again, std::chrono::seconds{15});
  world.cluster->spec.workerGroupSpecs[0].suspend = true;
  world.settle();
  EXPECT_EQ(world.written(), "");
  world.pass_time(std::chrono::seconds{15});
  EXPECT_EQ(world.written(), "delete rayclusters");
}

TEST(RayJobCleanup, OverdueRulesCollapseToTheStrongest) {  // RJ-14
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.job.spec.deletionStrategy = {
      .deletionRules = {rule("DeleteWorkers", 1), rule("DeleteCluster", 2), rule("DeleteSelf", 3)}};
  world.ready().ray_says("SUCCEEDED");
  world.now += std::chrono::seconds{700};
  const auto plan = world.look();
  ASSERT_EQ(plan.stages.size(), 1u);
  ASSERT_EQ(plan.stages[0].size(), 1u);
  EXPECT_EQ(plan.stages[0][0].resource.plural, "rayjobs");
}

TEST(RayJobSelector, MissingClusterIsSaidAndNotMade) {
  World world("HTTPMode");
  world.job.spec.rayClusterSpec.reset();
  world.job.spec.clusterSelector = {{"ray.io/cluster", "shared"}};
  world.settle();
  EXPECT_EQ(world.state(), "Initializing//");
  EXPECT_EQ(world.job.status.rayClusterName, "shared");
  EXPECT_EQ(world.look().events.at(0).reason, "RayClusterNotFound");
  EXPECT_EQ(world.written(), "patch rayjobs");
}

TEST(RayJobLaw, ASettledWorldsPlanIsEmpty) {
  for (auto mode : {"K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"}) {
    World world(mode);
    world.ready().ray_says("RUNNING");
    const auto plan = world.look();
    EXPECT_TRUE(plan.stages.empty()) << mode;
    EXPECT_FALSE(plan.status) << mode;
  }
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

TEST(RayJob, AJobThatRunsAgainHasNoEnd) {
  World world;
  world.ready().ray_says("FAILED", R"(,"end_time":4102444800000)");
  ASSERT_TRUE(world.job.status.rayJobInfo.endTime);
  world.ray_says("RUNNING");
  EXPECT_FALSE(world.job.status.rayJobInfo.endTime);
}

// ---- Why is my job not running?

raycluster::PodPtr troubled(raycluster::PodPtr pod, std::string words) {
  auto copy = *pod;
  copy.trouble = std::make_shared<const std::string>(std::move(words));
  return raycluster::testing::share(std::move(copy));
}

TEST(RayJobObstacle, IsTheHeadsWordsBeforeAWorkers) {
  World world;
  world.settle();
  EXPECT_EQ(world.job.status.message, "");
  world.workers = {troubled(raycluster::testing::worker("w-1"), "Unschedulable: no GPU")};
  world.settle();
  EXPECT_EQ(world.job.status.message, "Pod w-1: Unschedulable: no GPU");
  world.heads = {troubled(raycluster::testing::head(), "container ray is waiting: ErrImagePull")};
  world.settle();
  EXPECT_EQ(world.job.status.message, "Pod c-head: container ray is waiting: ErrImagePull");
  world.heads = {raycluster::testing::head()};
  world.ready();
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.job.status.message, "");
}

TEST(RayJobObstacle, IsTheQuotaThatTheClusterMet) {
  World world;
  world.settle();
  world.cluster->status.conditions = {
      {.type = "ReplicaFailure", .status = "True", .message = "exceeded quota: pods"}};
  world.settle();
  EXPECT_NE(world.job.status.message.find("exceeded quota: pods"), std::string::npos);
}

TEST(RayJobObstacle, IsTheApiServersRefusalOfTheSubmitter) {  // RJ-32
  World world;
  world.failures = {{"submitter", {.error = {.message = "restartPolicy: Unsupported value"}}}};
  world.ready();
  EXPECT_EQ(world.state(), "Initializing//");
  EXPECT_EQ(world.job.status.message,
            "creating the submitter Job j: restartPolicy: Unsupported value");
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobObstacle, IsAForeignJobOfItsName) {  // RJ-09
  World world;
  world.failures = {
      {"submitter", {.error = {.code = ErrorCode::AlreadyExists, .message = "exists"}}}};
  world.ready();
  EXPECT_EQ(world.notices(), "NameConflict");
  world.failures.clear();
  world.settle();
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobObstacle, OfTheSubmitterIsACondition) {
  World world;
  world.ready();
  world.submitter_pods = {
      troubled(raycluster::testing::worker("j-abcde"), "container s is waiting: ImagePullBackOff")};
  world.ray_fails(ErrorCode::NotFound);
  EXPECT_EQ(world.notices(), "SubmitterTrouble");
  world.ray_says("RUNNING");
  EXPECT_EQ(world.notices(), "");
}

TEST(RayJobObstacle, IsACommandThatCannotBeBuilt) {  // no event, as upstream
  World world;
  world.job.spec.metadata = {{"a", "b"}};
  world.job.spec.rayClusterSpec->rayVersion = "2.5.0";
  world.ready();
  EXPECT_EQ(world.state(), "Initializing//");
  EXPECT_EQ(world.job.status.message,
            "the Ray version must be at least 2.6.0 to use the metadata field");
  EXPECT_TRUE(world.look().events.empty());
}

// ---- RJ-21

TEST(RayJobInvalidUpdate, LeavesTheLastValidSpecInForce) {
  World world;
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready().ray_says("RUNNING");
  world.last_valid = std::make_shared<const ray::RayJob>(world.job);
  world.job.spec.suspend = true;
  world.settle();
  EXPECT_EQ(world.state(), "Running/RUNNING/");
  EXPECT_EQ(world.notices(), "InvalidUpdate");
  world.job.spec.suspend = false;
  world.settle();
  EXPECT_EQ(world.notices(), "");
  world.ray_says("SUCCEEDED").submitter_ends();
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
}

TEST(RayJobInvalidUpdate, KeepsTheCleanUpThatWasAskedFor) {
  World world("HTTPMode");
  world.ready().ray_says("RUNNING");
  world.last_valid = std::make_shared<const ray::RayJob>(world.job);
  world.job.spec.ttlSecondsAfterFinished = -1;
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_FALSE(world.cluster);
}

TEST(RayJobInvalidUpdate, AfterARestartDeletesNothing) {
  World world("HTTPMode");
  world.ready().ray_says("RUNNING");
  world.job.spec.ttlSecondsAfterFinished = -1;
  world.ray_says("SUCCEEDED");
  EXPECT_EQ(world.state(), "Complete/SUCCEEDED/");
  EXPECT_TRUE(world.cluster);
  world.job.spec.ttlSecondsAfterFinished = 0;
  world.settle();
  EXPECT_FALSE(world.cluster);
}

// ---- Clean-up

TEST(RayJobCleanup, RulesThatMatchNothingAreSaid) {  // RJ-12
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.job.spec.deletionStrategy = {.deletionRules = {rule("DeleteCluster", 0)}};
  world.job.spec.activeDeadlineSeconds = 100;
  world.ready().ray_says("RUNNING").pass_time(std::chrono::seconds{100});
  EXPECT_EQ(world.state(), "Failed/RUNNING/DeadlineExceeded");
  EXPECT_EQ(world.notices(), "CleanupNotApplicable");
  EXPECT_TRUE(world.look().events.empty()) << "once";
  EXPECT_TRUE(world.cluster);
}

TEST(RayJobCleanup, OlderPoliciesThatMatchNothingAreSaid) {
  World world("HTTPMode");
  world.job.spec.deletionStrategy = {.onSuccess = ray::DeletionPolicy{.policy = "DeleteCluster"},
                                     .onFailure = ray::DeletionPolicy{.policy = "DeleteCluster"}};
  world.ready().ray_says("STOPPED");
  EXPECT_EQ(world.notices(), "CleanupNotApplicable");
}

TEST(RayJobCleanup, TheNoticeLeavesTheEndTimeAlone) {
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready().ray_says("STOPPED");
  const auto ended = world.job.status.endTime;
  world.job.spec.deletionStrategy = {.deletionRules = {rule("DeleteCluster", 0)}};
  world.pass_time(std::chrono::seconds{60});
  EXPECT_EQ(world.notices(), "CleanupNotApplicable");
  EXPECT_EQ(world.job.status.endTime, ended);
}

TEST(RayJobCleanup, ItsOwnDeletionHasAnEvent) {
  World world("HTTPMode");
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready().ray_says("SUCCEEDED");
  world.job.spec.shutdownAfterJobFinishes = true;
  world.settings.delete_rayjob_cr = true;
  const auto plan = world.look();
  EXPECT_EQ(plan.stages.at(0).at(0).done_event->reason, "DeletedRayJob");
}

// ---- Our gates

TEST(RayJobGate, CountLostHeads) {  // RJ-04
  World world("HTTPMode");
  world.settings.job_gates.count_lost_heads = true;
  world.ready().ray_says("RUNNING").ray_fails(ErrorCode::NotFound);
  EXPECT_EQ(world.state(), "Failed/RUNNING/AppFailed");
}

TEST(RayJobGate, Patience) {  // RJ-10
  World world("HTTPMode");
  world.settings.job_gates.patience = true;
  world.ready().ray_fails(ErrorCode::Timeout).pass_time(std::chrono::seconds{360});
  EXPECT_EQ(world.state(), "Running//");
  EXPECT_EQ(world.notices(), "DashboardSilent");
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

TEST(RayJobGate, ReuseCluster) {  // RJ-41
  World world("HTTPMode");
  world.settings.job_gates.reuse_cluster = true;
  world.job.spec.backoffLimit = 2;
  world.job.spec.retryStrategy = "ReuseRayCluster";
  world.job.spec.jobId = "mine";
  world.ready();
  const auto cluster = world.job.status.rayClusterName;
  std::vector<std::string> ids{world.job.status.jobId};
  for (int n = 0; n < 2; ++n) {
    world.facts["job-info"] = {.answer = parse_json(R"({"status":"FAILED"})").value(),
                               .at = world.now};
    for (int pass = 0; pass < 40; ++pass) {
      const auto wanted = world.look();
      for (const auto& stage : wanted.stages)
        for (const auto& write : stage) world.make(write);
      if (!wanted.status) continue;
      world.job.status =
          ray::parse_part<ray::RayJobStatus>(wanted.status->body.at("status"), "status").value();
      if (world.job.status.jobDeploymentStatus.empty()) world.facts.clear();
      if (world.job.status.jobDeploymentStatus == "Running" && world.facts.empty()) break;
    }
    ids.push_back(world.job.status.jobId);
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"mine", "mine-2", "mine-3"}));
  EXPECT_EQ(world.job.status.rayClusterName, cluster);
  world.settle().ray_says("SUCCEEDED");
  EXPECT_EQ(world.job.status.failed, 2);
  EXPECT_EQ(world.job.status.succeeded, 1);
}

}  // namespace
}  // namespace manta::controllers::rayjob
