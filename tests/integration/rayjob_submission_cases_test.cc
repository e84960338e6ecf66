// What users of the reference ran into when a RayJob is checked and submitted. Each test has its
// case's id.
#include "base/yaml.h"
#include "rayjob_case_tools.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using kube::CallFault;
using ::testing::Contains;
using ::testing::HasSubstr;

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

TEST(RayJobCase, ADeletedSubmitterIsMissedOnlyWhereRayDoesNotKnowTheJob) {
  for (const bool forgotten : {false, true}) {
    World world;
    world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
    world.remove("Job", "j").run_until(is_gone("Job", "j"));
    if (forgotten) {
      world.ray().forget(status(world, "jobId"));
      world.run_until(job_has("JobUnknown"), 1min).run_until(job_is("j", "Failed"));
      EXPECT_EQ(status(world, "reason"), "JobStatusCheckTimeoutExceeded");
      EXPECT_THAT(status(world, "message"), HasSubstr("submitter Job default/j is not there"));
    } else {
      world.pass(10min);
      EXPECT_EQ(deployment(world), "Running");
      world.ray().set(status(world, "jobId"), "SUCCEEDED");
      world.run_until(job_is("j", "Complete"));
    }
    world.settle();
    EXPECT_EQ(world.ray().submissions().size(), 1u);
  }
}

TEST(RayJobCase, RJ_05_ExceptWhereTheAdministratorSetAGrace) {
  World world({.environment = {{"RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS", "4"}}});
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.kubelet().finish(world.submitter_pod("j"), 0);
  world.run_until(job_is("j", "Failed"), 1min).settle();
  EXPECT_EQ(status(world, "reason"), "JobDeploymentStatusTransitionGracePeriodExceeded");
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
  world.apply(kJob).run_until({"the cluster is ready", [](const World& w) {
                                 return cluster_is(w.cluster_of("j"), "ready").holds(w);
                               }});
  world.run_until(job_has("NameConflict"), 1s).pass(2min);
  EXPECT_EQ(uid_of(world.get("Job", "j")), uid);
  EXPECT_THAT(world.events("j"), Contains(HasSubstr("FailedToCreateRayJobSubmitter")));
  EXPECT_TRUE(has_condition(world, "NameConflict"));
  EXPECT_THAT(status(world, "message"), HasSubstr("creating the submitter Job j"));
  world.remove("RayJob", "j").run_until(is_gone("RayJob", "j")).settle();
  EXPECT_EQ(uid_of(world.get("Job", "j")), uid);
}

TEST(RayJobCase, RJ_20_ACorrectedSpecStarts) {
  World world;
  world.apply(job_with("  backoffLimit: -1\n")).run_until(job_is("j", "ValidationFailed")).settle();
  world.expect_rest();
  world.patch("RayJob", "j", "{spec: {backoffLimit: 0}}").run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(RayJobCase, RJ_27_StartsWithinASecondOfTheClusterItWaitedFor) {
  World world;
  world.apply(kJobOnC).pass(2min);
  int told = 0;
  for (const auto& event : world.events("j")) told += event.starts_with("RayClusterNotFound");
  EXPECT_EQ(told, 1);
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.run_until(exists("Job", "j"), 1s).run_until(ray_job_is("j", "RUNNING"));
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
