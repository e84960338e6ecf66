// What users of the reference ran into with RayJobs. Each test has its case's id.
#include "base/yaml.h"
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using kube::CallFault;
using ::testing::Contains;
using ::testing::HasSubstr;

std::string job_with(std::string_view lines) { return std::string(kJob) + std::string(lines); }
constexpr const char* kOnC = R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec: {entrypoint: python a.py, clusterSelector: {ray.io/cluster: c}}
)";
// kJob without shutdownAfterJobFinishes.
std::string kept_job() {
  auto job = std::string(kJob);
  job.replace(job.find("  shutdownAfterJobFinishes: true\n"), 33, "");
  return job;
}
std::string status(const World& world, std::string_view field) {
  return std::string(string_at(world.get("RayJob", "j"), {"status", field}));
}
bool has_condition(const World& world, std::string_view type, std::string_view kind = "RayJob",
                   std::string_view name = "j") {
  for (const auto& condition : array_at(world.get(kind, name), {"status", "conditions"}))
    if (string_at(condition, {"type"}) == type) return string_at(condition, {"status"}) == "True";
  return false;
}
Until job_has(std::string type) {
  return {"condition " + type, [type](const World& w) { return has_condition(w, type); }};
}
int counted(const std::vector<std::string>& events, std::string_view reason) {
  int count = 0;
  for (const auto& event : events) count += event.starts_with(reason);
  return count;
}
void set_pod_status(World& world, const std::string& pod, std::string_view yaml) {
  const auto done =
      world.loop().run(world.server().call({.verb = kube::Verb::Patch,
                                            .resource = kube::kPods,
                                            .namespace_ = "default",
                                            .name = pod,
                                            .subresource = "status",
                                            .body = JsonObject{{"status", *parse_yaml_one(yaml)}},
                                            .patch_type = kube::PatchType::Merge}));
  EXPECT_TRUE(done) << done.error().message;
}
std::string deployment(const World& world) {
  return std::string(string_at(world.get("RayJob", "j"), {"status", "jobDeploymentStatus"}));
}

TEST(RayJobCase, RJ_01_AStatusConflictSubmitsOnce) {
  World world;
  world.faults().on_write = [done = false](std::size_t, const kube::Request& request) mutable {
    const bool hit = !done && request.resource.kind == "RayJob" &&
                     request.subresource == "status" &&
                     string_at(request.body, {"status", "jobStatus"}) == "RUNNING";
    done = done || hit;
    return hit ? CallFault::Conflict : CallFault::None;
  };
  world.apply(job_with("  submissionMode: HTTPMode\n")).run_until(ray_job_is("j", "RUNNING"));
  EXPECT_EQ(world.injected().size(), 1u);
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_02_ALostSubmitterAndADeathMakeOneJob) {
  World world;
  world.faults().on_write = [seen = 0](std::size_t, const kube::Request& request) mutable {
    if (request.resource != kube::kJobs) return CallFault::None;
    return ++seen == 1 ? CallFault::LostReply : CallFault::None;
  };
  world.apply(kJob).run_until(exists("Job", "j")).crash().run_until(ray_job_is("j", "RUNNING"));
  EXPECT_EQ(world.mirror().created("Job"), 1);
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_07_ADeletedSubmitterPodSubmitsNothingAgain) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING")).settle();
  const auto first = world.submitter_pod("j");
  world.remove("Pod", first).run_until({"another submitter Pod follows", [&](const World& w) {
                                          const auto pod = w.submitter_pod("j");
                                          return !pod.empty() && pod != first;
                                        }});
  world.settle();
  EXPECT_EQ(deployment(world), "Running");
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_09_AForeignJobOfThatNameIsNeverTouched) {
  World world;
  world
      .apply(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
)")
      .settle();
  const auto uid = uid_of(world.get("Job", "j"));
  world.apply(kJob).pass(2min);
  EXPECT_EQ(uid_of(world.get("Job", "j")), uid);
  EXPECT_THAT(world.events("j"), Contains(HasSubstr("FailedToCreateRayJobSubmitter")));
  EXPECT_TRUE(has_condition(world, "NameConflict"));
  EXPECT_THAT(status(world, "message"), HasSubstr("creating the submitter Job j"));
  world.remove("RayJob", "j").run_until(is_gone("RayJob", "j")).settle();
  EXPECT_EQ(uid_of(world.get("Job", "j")), uid);
}

TEST(RayJobCase, RJ_14_AfterALongAbsenceOnlyTheLastRuleIsCarriedOut) {
  World world;
  auto job = std::string(kJob);
  job.replace(job.find("  shutdownAfterJobFinishes: true\n"), 33, "");
  world.apply(job + R"(  deletionStrategy:
    deletionRules:
    - {policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED, ttlSeconds: 10}}
    - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED, ttlSeconds: 60}}
    - {policy: DeleteSelf, condition: {jobStatus: SUCCEEDED, ttlSeconds: 600}}
)");
  world.run_until(ray_job_is("j", "RUNNING")).end_job("j", "SUCCEEDED");
  world.run_until(job_is("j", "Complete")).stop_operator().pass(700s);
  const auto before = world.writes().size();
  world.start_operator().run_until(is_gone("RayJob", "j"));
  std::vector<std::string> deletions;
  for (auto at = before; at < world.writes().size(); ++at)
    if (world.writes()[at].verb == kube::Verb::Delete || world.writes()[at].kind == "RayCluster")
      deletions.push_back(world.writes()[at].to_string());
  EXPECT_EQ(deletions, std::vector<std::string>{"delete RayJob default/j"});
  world.pass(1min);
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJobCase, RJ_15_DeletedWhileRayHangsItIsStoppedAsSoonAsRayAnswers) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world
      .apply(R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec: {entrypoint: python a.py, clusterSelector: {ray.io/cluster: c}}
)")
      .run_until(ray_job_is("j", "RUNNING"));
  const auto id = world.id_of("j");
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.remove("RayJob", "j").pass(20s);
  EXPECT_TRUE(world.mirror().find("RayJob", "j")) << "it still tries";
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.run_until(is_gone("RayJob", "j"), 40s).settle();
  EXPECT_EQ(world.ray().stops(), std::vector{id});
}

TEST(RayJobCase, RJ_15_ButNotForEver) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world
      .apply(R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec: {entrypoint: python a.py, clusterSelector: {ray.io/cluster: c}}
)")
      .run_until(ray_job_is("j", "RUNNING"));
  const auto id = world.id_of("j");
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.remove("RayJob", "j").run_until(is_gone("RayJob", "j"), 70s).settle();
  EXPECT_THAT(world.events("j"), Contains(HasSubstr("Ray did not stop job " + id)));
}

TEST(RayJobCase, RJ_20_ACorrectedSpecStarts) {
  World world;
  world.apply(job_with("  backoffLimit: -1\n")).run_until(job_is("j", "ValidationFailed")).settle();
  world.expect_rest();
  world.patch("RayJob", "j", "{spec: {backoffLimit: 0}}").run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_23_ASuspendedOneIsLeftInPeace) {
  World world;
  world.apply(job_with("  suspend: true\n")).run_until(job_is("j", "Suspended")).settle();
  const auto asked = world.ray().calls();
  world.expect_rest();
  EXPECT_EQ(world.ray().calls(), asked);
}

TEST(RayJobCase, RJ_27_StartsWithinASecondOfTheClusterItWaitedFor) {
  World world;
  world
      .apply(R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec: {entrypoint: python a.py, clusterSelector: {ray.io/cluster: c}}
)")
      .pass(2min);
  int told = 0;
  for (const auto& event : world.events("j")) told += event.starts_with("RayClusterNotFound");
  EXPECT_EQ(told, 1);
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.run_until(exists("Job", "j"), 1s).run_until(ray_job_is("j", "RUNNING"));
}

TEST(RayJobCase, RJ_34_InSidecarModeALostHeadFailsTheJobAndNoneFollows) {
  World world;
  world.apply(job_with("  submissionMode: SidecarMode\n"));
  world.run_until({"the cluster is ready",
                   [](const World& w) { return cluster_is(w.cluster_of("j"), "ready").holds(w); }});
  world.pass(10s);
  world.remove("Pod", world.head(world.cluster_of("j"))).run_until(job_is("j", "Failed")).settle();
  EXPECT_EQ(string_at(world.get("RayJob", "j"), {"status", "reason"}), "AppFailed");
  int heads = 0;
  for (const auto& write : world.writes())
    heads += write.verb == kube::Verb::Create &&
             write.key.name.find("-head-") != std::string::npos && write.kind == "Pod";
  EXPECT_EQ(heads, 1);
}

TEST(RayJobCase, RJ_42_APreRunningDeadlineIsRetriedAsAnyFailure) {
  World world;
  world.kubelet().hold({{"ray.io/node-type", "worker"}});
  world.apply(job_with("  preRunningDeadlineSeconds: 60\n  backoffLimit: 1\n"))
      .run_until(job_is("j", "Failed"))
      .settle();
  EXPECT_EQ(world.mirror().created("RayCluster"), 2);
  EXPECT_EQ(string_at(world.get("RayJob", "j"), {"status", "reason"}),
            "PreRunningDeadlineExceeded");
}

TEST(RayJobCase, RJ_04_EachLostHeadIsAnAttempt) {
  World world({.feature_gates = "RayJobCountLostHeads=true"});
  world.apply(job_with("  submissionMode: HTTPMode\n  backoffLimit: 1\n"));
  for (int attempt = 1; attempt <= 2; ++attempt) {
    world.run_until({fmt::format("attempt {} runs", attempt), [&](const World& w) {
                       return ray_job_is("j", "RUNNING").holds(w) &&
                              w.mirror().created("RayCluster") == attempt;
                     }});
    world.pass(30s).kubelet().fail(world.head(world.cluster_of("j")));
  }
  world.run_until(job_is("j", "Failed")).settle();
  EXPECT_EQ(status(world, "reason"), "AppFailed");
  EXPECT_EQ(world.ray().submissions().size(), 2u);
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 2);
}

TEST(RayJobCase, RJ_05_ALogStreamThatClosesEndsNothing) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.kubelet().finish(world.submitter_pod("j"), 0);
  world.pass(10min);
  EXPECT_EQ(deployment(world), "Running");
  EXPECT_EQ(counted(world.events("j"), "SubmitterEnded"), 1);
  EXPECT_TRUE(has_condition(world, "SubmitterEnded"));
  world.expect_rest();
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_FALSE(has_condition(world, "SubmitterEnded"));
}

TEST(RayJobCase, RJ_05_ExceptWhereTheAdministratorSetAGrace) {
  World world({.environment = {{"RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS", "4"}}});
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.kubelet().finish(world.submitter_pod("j"), 0);
  world.run_until(job_is("j", "Failed"), 1min).settle();
  EXPECT_EQ(status(world, "reason"), "JobDeploymentStatusTransitionGracePeriodExceeded");
}

TEST(RayJobCase, RJ_10_ASilentDashboardOfAHealthyHeadFailsNothing) {
  World world({.feature_gates = "RayJobPatience=true"});
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.run_until(job_has("DashboardSilent"), 6min).pass(5min);
  EXPECT_EQ(deployment(world), "Running");
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_FALSE(has_condition(world, "DashboardSilent"));
}

TEST(RayJobCase, RJ_11_AtItsDeadlineTheJobIsStopped) {
  World world({.feature_gates = "RayJobStopAtDeadline=true"});
  world.apply(kept_job() + "  activeDeadlineSeconds: 120\n").run_until(ray_job_is("j", "RUNNING"));
  world.run_until(job_is("j", "Failed"), 3min).settle();
  EXPECT_EQ(status(world, "reason"), "DeadlineExceeded");
  EXPECT_EQ(status(world, "jobStatus"), "STOPPED");
  EXPECT_EQ(world.ray().stops().size(), 1u);
}

TEST(RayJobCase, RJ_12_RulesThatMatchNothingAreSaid) {
  World world;
  world.apply(kept_job() + R"(  activeDeadlineSeconds: 120
  deletionStrategy:
    deletionRules:
    - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}
    - {policy: DeleteCluster, condition: {jobStatus: FAILED}}
)");
  world.run_until(job_is("j", "Failed"), 5min).settle();
  EXPECT_EQ(status(world, "jobStatus"), "RUNNING");
  EXPECT_TRUE(has_condition(world, "CleanupNotApplicable"));
  EXPECT_EQ(counted(world.events("j"), "CleanupNotApplicable"), 1);
  world.expect_rest();
}

TEST(RayJobCase, RJ_12_TheOperatorsOwnRuleHelpsWhereNoneMatches) {
  World world({.environment = {{"RAYJOB_DEFAULT_DELETION_RULE", "DeleteCluster:600"}}});
  constexpr const char* kRules = R"(  deletionStrategy:
    deletionRules:
    - {policy: DeleteNone, condition: {jobStatus: SUCCEEDED}}
)";
  world.apply(kept_job() + "  activeDeadlineSeconds: 120\n" + kRules);
  world.run_until(job_is("j", "Failed"), 5min).settle();
  EXPECT_TRUE(has_condition(world, "CleanupNotApplicable"));
  const auto cluster = world.cluster_of("j");
  world.pass(9min);
  EXPECT_TRUE(world.mirror().find("RayCluster", cluster));
  world.run_until(is_gone("RayCluster", cluster), 70s).settle();
  EXPECT_TRUE(world.mirror().find("RayJob", "j"));
}

TEST(RayJobCase, RJ_12_WhoseUsersRuleMatchesOrWhoHasNoneIsLeftToIt) {
  for (const auto* strategy : {"", R"(  deletionStrategy:
    deletionRules:
    - {policy: DeleteNone, condition: {jobStatus: SUCCEEDED}}
)"}) {
    World world({.environment = {{"RAYJOB_DEFAULT_DELETION_RULE", "DeleteSelf"}}});
    world.apply(kept_job() + strategy).run_until(ray_job_is("j", "RUNNING"));
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
    world.pass(1h);
    EXPECT_TRUE(world.mirror().find("RayCluster", world.cluster_of("j"))) << strategy;
  }
}

TEST(RayJobCase, RJ_17_ATotalDeadlineSpansAllAttempts) {
  World world({.feature_gates = "RayJobTotalDeadline=true"});
  world.apply(
      job_with("  submissionMode: HTTPMode\n  activeDeadlineSeconds: 90\n"
               "  backoffLimit: 9\n"));
  const auto start = world.loop().now();
  while (deployment(world) != "Failed" && world.loop().now() < start + 10min) {
    world.pass(1s);
    if (status(world, "jobStatus") != "RUNNING") continue;
    world.pass(50s);
    if (status(world, "jobStatus") == "RUNNING") world.end_job("j", "FAILED");
  }
  EXPECT_LT(world.loop().now() - start, 2min);
  EXPECT_EQ(status(world, "reason"), "DeadlineExceeded");
  world.settle();
}

TEST(RayJobCase, RJ_18_TheUsersTimeBeginsWhenTheClusterIsReady) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayJobWaitingWindow=true" : ""});
    world.kubelet().hold({{"ray.io/node-type", "worker"}});
    world.apply(job_with("  submissionMode: InteractiveMode\n  preRunningDeadlineSeconds: 60\n"))
        .pass(50s);
    world.kubelet().release();
    world.run_until(job_is("j", "Waiting"), 9s).pass(15s);
    EXPECT_EQ(deployment(world), gate ? "Waiting" : "Failed");
    world.run_until(job_is("j", "Failed"), 1min).settle();
    EXPECT_EQ(status(world, "reason"), "PreRunningDeadlineExceeded");
  }
}

TEST(RayJobCase, RJ_21_AnInvalidEditOrphansNothing) {
  World world;
  world.apply(kept_job()).run_until(ray_job_is("j", "RUNNING"));
  world.patch("RayJob", "j", "{spec: {suspend: true}}")
      .run_until(job_has("InvalidUpdate"))
      .settle();
  EXPECT_EQ(deployment(world), "Running");
  EXPECT_TRUE(world.mirror().find("RayCluster", world.cluster_of("j")));
  world.expect_rest();
  world.crash().settle();  // what the last valid spec was is forgotten
  EXPECT_EQ(deployment(world), "Running");
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  world.patch("RayJob", "j", "{spec: {suspend: false}}").settle();
  EXPECT_FALSE(has_condition(world, "InvalidUpdate"));
}

TEST(RayJobCase, RJ_21_TheLastValidCleanUpIsCarriedOut) {
  World world;
  world.apply(job_with("  ttlSecondsAfterFinished: 60\n")).run_until(ray_job_is("j", "RUNNING"));
  world.patch("RayJob", "j", "{spec: {ttlSecondsAfterFinished: -1}}")
      .run_until(job_has("InvalidUpdate"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete"));
  const auto cluster = world.cluster_of("j");
  world.run_until(is_gone("RayCluster", cluster), 70s).settle();
}

TEST(RayJobCase, RJ_25_SuspendedOnASharedClusterItIsStopped) {
  World world({.feature_gates = "RayJobSelectorSuspend=true"});
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.apply(kOnC).run_until(ray_job_is("j", "RUNNING"));
  const auto id = world.id_of("j");
  world.patch("RayJob", "j", "{spec: {suspend: true}}")
      .run_until(job_is("j", "Suspended"))
      .settle();
  EXPECT_EQ(world.ray().stops(), std::vector{id});
  EXPECT_TRUE(world.mirror().find("RayCluster", "c"));
  EXPECT_FALSE(world.mirror().find("Job", "j"));
  world.patch("RayJob", "j", "{spec: {suspend: false}}").run_until(ray_job_is("j", "RUNNING"));
  EXPECT_NE(world.id_of("j"), id);
}

TEST(RayJobCase, RJ_25_OneThatWasNeverSubmittedIsDoneAtOnce) {
  World world({.feature_gates = "RayJobSelectorSuspend=true"});
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.kubelet().hold({{"batch.kubernetes.io/job-name", "j"}});
  world.apply(kOnC).run_until(job_is("j", "Running"));
  world.patch("RayJob", "j", "{spec: {suspend: true}}").run_until(job_is("j", "Suspended"), 30s);
  EXPECT_TRUE(world.ray().stops().empty());
}

TEST(RayJobCase, RJ_28_AnEntrypointArrivesAsItIs) {
  for (const bool gate : {false, true}) {
    World world(
        {.feature_gates = gate ? "RayJobVerbatimEntrypoint=true" : "", .start_operator = false});
    world.apply(kJob).patch("RayJob", "j", R"({spec: {entrypoint: "echo a && echo `b` # c\nd"}})");
    world.start_operator().run_until(exists("Job", "j"));
    const auto& containers =
        array_at(world.get("Job", "j"), {"spec", "template", "spec", "containers"});
    const auto script = std::string(array_at(containers[0], {"args"})[0].as_string());
    // What bash and Ray make of it: submit_command_test.
    EXPECT_EQ(script.find("submit_job(") != std::string::npos, gate) << script;
    EXPECT_EQ(script.find("-- echo a && echo `b`") == std::string::npos, gate) << script;
  }
}

TEST(RayJobCase, RJ_30_AJobIdIsNoShellText) {
  World world;
  world.apply(job_with("  jobId: 'x; touch /tmp/p'\n")).run_until(exists("Job", "j"));
  const auto& containers =
      array_at(world.get("Job", "j"), {"spec", "template", "spec", "containers"});
  const auto script = std::string(array_at(containers[0], {"args"})[0].as_string());
  EXPECT_THAT(script, HasSubstr("--submission-id 'x; touch /tmp/p' "));
  EXPECT_EQ(script.find(" x; touch"), std::string::npos) << script;
}

TEST(RayJobCase, RJ_32_ARefusedSubmitterIsSaidInTheApiServersWords) {
  World world;
  world.faults().on_write = [](std::size_t, const kube::Request& request) {
    return request.resource == kube::kJobs ? CallFault::Forbidden : CallFault::None;
  };
  world.apply(kJob).run_until(
      {"the message says it", [](const World& w) {
         return status(w, "message").starts_with("creating the submitter Job j: ");
       }});
  EXPECT_EQ(deployment(world), "Initializing");
  world.faults().on_write = {};
  world.patch("RayJob", "j", "{metadata: {labels: {a: b}}}");
  world.run_until(ray_job_is("j", "RUNNING"), 30min);
  EXPECT_EQ(status(world, "message"), "Job is RUNNING");
}

TEST(RayJobCase, RJ_32_RestartPolicyIsFilledIn) {
  World world({.feature_gates = "RayJobSubmitterDefaults=true"});
  world.apply(job_with("  submitterPodTemplate: {spec: {containers: [{name: s, image: i}]}}\n"))
      .run_until(ray_job_is("j", "RUNNING"));
  EXPECT_EQ(string_at(world.get("Job", "j"), {"spec", "template", "spec", "restartPolicy"}),
            "Never");
}

TEST(RayJobCase, RJ_35_SidecarRestartsHaveALimitOfTheUsers) {
  World world({.feature_gates = "SidecarSubmitterRestart=true"});
  world.apply(job_with("  submissionMode: SidecarMode\n  submitterConfig: {backoffLimit: 5}\n"))
      .run_until(job_is("j", "Running"));
  const auto head = world.head(world.cluster_of("j"));
  const auto restarted = [&](int count) {
    set_pod_status(world, head,
                   fmt::format("containerStatuses: [{{name: ray-head, state: {{running: {{}}}}}}, "
                               "{{name: ray-job-submitter, restartCount: {}, state: {{running: "
                               "{{}}}}, lastState: {{terminated: {{exitCode: 1}}}}}}]",
                               count));
    world.pass(20s);
  };
  restarted(4);
  EXPECT_EQ(deployment(world), "Running");
  restarted(5);
  EXPECT_EQ(deployment(world), "Failed");
  EXPECT_EQ(status(world, "reason"), "SubmissionFailed");
}

TEST(RayJobCase, RJ_37_AHeadThatCannotInitialiseFailsTheJob) {
  World world({.feature_gates = "RayJobHeadInitFailure=true"});
  world.kubelet().hold({{"ray.io/node-type", "head"}});
  world.apply(job_with(""));
  for (int n = 0; n < 3; ++n) {
    std::string head;
    world.run_until({"a head that has not failed",
                     [&](const World& w) {
                       head = w.cluster_of("j").empty() ? "" : w.head(w.cluster_of("j"));
                       return !head.empty() &&
                              string_at(w.get("Pod", head), {"status", "phase"}) != "Failed";
                     }},
                    30min);
    world.pass(100ms);  // an init container runs for a moment
    set_pod_status(world, head,
                   "{phase: Failed, initContainerStatuses: [{name: setup, state: {terminated: "
                   "{exitCode: 42, reason: Error}}}]}");
    world.pass(1s);
  }
  world.run_until(job_is("j", "Failed"));
  EXPECT_THAT(status(world, "message"), HasSubstr("init container setup exited with code 42"));
}

// The log that is kept of the job on this cluster; empty: there is none.
std::string kept_log(const World& world, const std::string& cluster) {
  const auto* map = world.mirror().find("ConfigMap", cluster + "-driver-log");
  return map ? std::string(string_at(*map, {"data", "driver.log"})) : std::string();
}

TEST(RayJobCase, RJ_39_TheEndOfTheLogOutlivesTheCluster) {
  for (const std::string mode : {"HTTPMode", "InteractiveMode", "SidecarMode"}) {
    SCOPED_TRACE(mode);
    World world({.feature_gates = "RayJobKeepLog=true"});
    world.ray().log = [](const std::string& id) { return "what " + id + " printed"; };
    world.apply(job_with("  ttlSecondsAfterFinished: 60\n  submissionMode: " + mode + "\n"));
    if (mode == "InteractiveMode") {
      world.run_until(job_is("j", "Waiting"));
      world.ray().submit("mine", uid_of(world.get("Pod", world.head(world.cluster_of("j")))));
      world.patch("RayJob", "j", "{spec: {jobId: mine}}");
    }
    world.run_until(ray_job_is("j", "RUNNING"));
    const auto cluster = world.cluster_of("j");
    const auto id = world.id_of("j");
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).pass(50s);
    EXPECT_EQ(kept_log(world, cluster), "") << "Ray still has it";
    world.run_until(is_gone("RayCluster", cluster), 15s).settle();
    EXPECT_EQ(kept_log(world, cluster), "what " + id + " printed");
    EXPECT_EQ(counted(world.events("j"), "KeptDriverLog"), 1);
    world.remove("RayJob", "j").run_until(is_gone("RayJob", "j")).settle();
    EXPECT_TRUE(world.mirror().list("ConfigMap").empty()) << "it goes with the RayJob";
  }
}

TEST(RayJobCase, RJ_39_EachAttemptsLogIsKept) {
  World world({.feature_gates = "RayJobKeepLog=true"});
  world.ray().log = [](const std::string& id) { return "what " + id + " printed"; };
  world.apply(job_with("  submissionMode: HTTPMode\n  backoffLimit: 1\n"))
      .run_until(ray_job_is("j", "RUNNING"));
  const auto first = world.cluster_of("j");
  const auto first_id = world.id_of("j");
  world.end_job("j", "FAILED").run_until({"the second attempt runs", [&](const World& w) {
                                            return ray_job_is("j", "RUNNING").holds(w) &&
                                                   w.cluster_of("j") != first;
                                          }});
  EXPECT_EQ(kept_log(world, first), "what " + first_id + " printed");
  world.end_job("j", "FAILED").run_until(job_is("j", "Failed")).settle();
  EXPECT_EQ(world.mirror().list("ConfigMap").size(), 2u);
}

TEST(RayJobCase, RJ_39_ALogThatCannotBeHadKeepsNoCluster) {
  enum class Obstacle { RayHangs, WriteIsRefused, HeadIsLost };
  for (const auto obstacle : {Obstacle::RayHangs, Obstacle::WriteIsRefused, Obstacle::HeadIsLost}) {
    SCOPED_TRACE(static_cast<int>(obstacle));
    World world({.feature_gates = "RayJobKeepLog=true"});
    world.apply(job_with("  ttlSecondsAfterFinished: 60\n  submissionMode: HTTPMode\n"))
        .run_until(ray_job_is("j", "RUNNING"));
    const auto cluster = world.cluster_of("j");
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete"));
    if (obstacle == Obstacle::RayHangs) world.ray().mood = RayDashboardDouble::Mood::Hangs;
    if (obstacle == Obstacle::HeadIsLost) world.kubelet().fail(world.head(cluster));
    if (obstacle == Obstacle::WriteIsRefused)
      world.faults().on_write = [](std::size_t, const kube::Request& request) {
        return request.resource == kube::kConfigMaps ? CallFault::Forbidden : CallFault::None;
      };
    world.run_until(is_gone("RayCluster", cluster), 90s).settle();
    EXPECT_EQ(kept_log(world, cluster), "");
    if (obstacle != Obstacle::HeadIsLost)
      EXPECT_EQ(counted(world.events("j"), "FailedToKeepDriverLog"), 1);
  }
}

TEST(RayJobCase, RJ_39_WithoutTheGateNothingIsKept) {
  World world;
  world.apply(job_with("  submissionMode: HTTPMode\n")).run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(world.mirror().created("ConfigMap"), 0);
}

TEST(RayJobCase, RJ_41_RetriesStayOnTheCluster) {
  World world({.feature_gates = "RayJobReuseCluster=true"});
  world.apply(
      job_with("  submissionMode: HTTPMode\n  backoffLimit: 2\n"
               "  retryStrategy: ReuseRayCluster\n"));
  for (std::size_t attempt = 1; attempt <= 3; ++attempt) {
    world.run_until({fmt::format("attempt {} runs", attempt), [&](const World& w) {
                       return ray_job_is("j", "RUNNING").holds(w) &&
                              w.ray().submissions().size() == attempt;
                     }});
    world.end_job("j", attempt < 3 ? "FAILED" : "SUCCEEDED");
  }
  world.run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  const std::set<std::string> ids(world.ray().submissions().begin(),
                                  world.ray().submissions().end());
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 2);
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "succeeded"}), 1);
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJobCase, RJ_41_AHeadThatIsLostBetweenTriesMakesItAnotherCluster) {
  World world({.feature_gates = "RayJobReuseCluster=true"});
  world
      .apply(job_with("  submissionMode: HTTPMode\n  backoffLimit: 1\n"
                      "  retryStrategy: ReuseRayCluster\n"))
      .run_until(ray_job_is("j", "RUNNING"));
  const auto first = world.cluster_of("j");
  world.stop_operator().end_job("j", "FAILED");
  world.kubelet().fail(world.head(first));
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.start_operator().run_until({"the second attempt runs", [&](const World& w) {
                                      return ray_job_is("j", "RUNNING").holds(w) &&
                                             w.ray().submissions().size() == 2;
                                    }});
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJobCase, RJ_44_WhatToolsMarkIsNotCopied) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayJobPlainMetadata=true" : "", .start_operator = false});
    world.kubelet().hold({{"ray.io/node-type", "head"}});
    world.apply(kJob).patch("RayJob", "j", R"({metadata: {
      labels: {app.kubernetes.io/instance: app, team: a},
      annotations: {argocd.argoproj.io/tracking-id: x, note: b,
                    kubectl.kubernetes.io/last-applied-configuration: "{}"}}})");
    world.start_operator();
    world.run_until(
        {"its cluster", [](const World& w) { return !w.mirror().list("RayCluster").empty(); }});
    const auto& cluster = *world.mirror().list("RayCluster").front();
    const auto& labels = object_at(cluster, {"metadata", "labels"});
    const auto& annotations = object_at(cluster, {"metadata", "annotations"});
    EXPECT_EQ(labels.contains("app.kubernetes.io/instance"), !gate);
    EXPECT_EQ(annotations.contains("argocd.argoproj.io/tracking-id"), !gate);
    EXPECT_EQ(annotations.contains("kubectl.kubernetes.io/last-applied-configuration"), !gate);
    EXPECT_TRUE(labels.contains("team"));
    EXPECT_TRUE(annotations.contains("note"));
  }
}

TEST(RayJobCase, SEEN_35_AnUpgradeStrategyIsRefusedWithItsPath) {
  World world({.start_operator = false});
  world.apply(kJob).patch("RayJob", "j",
                          "{spec: {rayClusterSpec: {upgradeStrategy: {type: Recreate}}}}");
  world.start_operator();
  world.run_until(job_is("j", "ValidationFailed"));
  EXPECT_THAT(status(world, "message"), HasSubstr("spec.rayClusterSpec.upgradeStrategy"));
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJobCase, SEEN_36_RulesAndSuspendGoTogether) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayJobSuspendWithRules=true" : ""});
    world.apply(kept_job() + R"(  suspend: true
  deletionStrategy:
    deletionRules: [{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}]
)");
    world.run_until(job_is("j", gate ? "Suspended" : "ValidationFailed")).settle();
  }
}

TEST(RayJobCase, SEEN_37_ManagedByCannotBeTakenAway) {
  World world;
  world.apply(job_with("  managedBy: kueue.x-k8s.io/multikueue\n")).pass(10s);
  const auto removed = world.merge("RayJob", "j", *parse_yaml_one("{spec: {managedBy: null}}"));
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().message, HasSubstr("the managedBy field is immutable"));
  world.settle();
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJobCase, SEEN_38_TwoGroupsOfOneNameAreRefused) {
  World world({.start_operator = false});
  world.apply(kJob).patch("RayJob", "j", R"({spec: {rayClusterSpec: {workerGroupSpecs: [
    {groupName: g, replicas: 1, minReplicas: 0, maxReplicas: 1, template: {spec: {containers: [{name: w, image: i}]}}},
    {groupName: g, replicas: 1, minReplicas: 0, maxReplicas: 1, template: {spec: {containers: [{name: w, image: i}]}}}]}}})");
  world.start_operator();
  world.run_until(job_is("j", "ValidationFailed"));
  EXPECT_THAT(status(world, "message"), HasSubstr("workerGroupSpecs[1].groupName"));
}

// The records rj-* of the conformance suite pin these ways of the reference, and no case asks for
// better.
TEST(RayJobCase, SEEN_39_ADeletedClusterIsMadeAgainUnderItsName) {
  World world;
  world.apply(job_with("  submissionMode: HTTPMode\n")).run_until(ray_job_is("j", "RUNNING"));
  const auto cluster = world.cluster_of("j");
  const auto uid = uid_of(world.get("RayCluster", cluster));
  const auto id = world.id_of("j");
  world.remove("RayCluster", cluster)
      .run_until({"it is there again and has the job", [&](const World& w) {
                    const auto* again = w.mirror().find("RayCluster", cluster);
                    return again && uid_of(*again) != uid && w.ray().submissions().size() == 2;
                  }});
  EXPECT_EQ(world.ray().submissions(), (std::vector{id, id}));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, SEEN_39_AnActiveDeadlineIsFinalAndCountsFromEachStart) {
  World world;
  world.apply(job_with("  activeDeadlineSeconds: 120\n  backoffLimit: 2\n"))
      .run_until(ray_job_is("j", "RUNNING"))
      .run_until(job_is("j", "Failed"), 3min)
      .settle();
  EXPECT_EQ(status(world, "reason"), "DeadlineExceeded");
  EXPECT_EQ(status(world, "jobStatus"), "RUNNING");
  EXPECT_EQ(int_at(world.get("RayJob", "j"), {"status", "failed"}), 1);
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
}

TEST(RayJobCase, SEEN_39_SuccessWaitsForTheSubmitterAndCleansUpNothingUnasked) {
  World world;
  world.apply(kept_job()).run_until(ray_job_is("j", "RUNNING"));
  world.ray().set(world.id_of("j"), "SUCCEEDED");  // its submitter still follows the log
  world.run_until(ray_job_is("j", "SUCCEEDED")).pass(1min);
  EXPECT_EQ(deployment(world), "Running");
  world.kubelet().finish(world.submitter_pod("j"), 0);
  world.run_until(job_is("j", "Complete")).settle();
  world.pass(24h);
  EXPECT_TRUE(world.mirror().find("RayCluster", world.cluster_of("j")));
  EXPECT_TRUE(world.mirror().find("Job", "j"));
}

TEST(RayJobWords, APodsOwnWordsAreInTheMessageUntilItRuns) {
  World world;
  world.kubelet().hold({{"ray.io/node-type", "worker"}});
  world.apply(kJob).run_until(
      {"its worker", [](const World& w) { return !w.workers(w.cluster_of("j")).empty(); }});
  const auto worker = world.workers(world.cluster_of("j")).front();
  set_pod_status(world, worker,
                 "conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, "
                 "message: '0/3 nodes are available'}]");
  world.settle();
  EXPECT_EQ(status(world, "message"),
            fmt::format("Pod {}: Unschedulable: 0/3 nodes are available", worker));
  world.kubelet().release();
  world.run_until(ray_job_is("j", "RUNNING"));
}

}  // namespace
}  // namespace manta::integration
