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
                   .heads = heads};
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
  world.submitter_ends();
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

TEST(RayJob, SubmitterThatEndedLongBeforeTheJobFailsIt) {
  World world;
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

}  // namespace
}  // namespace manta::controllers::rayjob
