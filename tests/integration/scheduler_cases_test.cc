// What users of the reference ran into with batch schedulers. Each test has its case's id.
#include "controllers/batchscheduler/gang.h"
#include "manifests.h"
#include "rayjob_case_tools.h"
#include "served.h"
#include "world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using controllers::batchscheduler::kCoschedulingPodGroups;
using controllers::batchscheduler::kPodGroups;
using controllers::batchscheduler::kVolcanoPodGroups;
using controllers::batchscheduler::kWorkloads;
using kube::CallFault;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// A world whose operator works with a scheduler that is installed.
struct Scheduled : World {
  Scheduled(std::string scheduler, std::initializer_list<kube::Resource> kinds)
      : World({.batch_scheduler = std::move(scheduler), .start_operator = false}) {
    for (const auto& kind : kinds) serve(*this, kind);
    start_operator();
  }
  void remove_gang(std::string name) { on_gang({.verb = kube::Verb::Delete}, std::move(name)); }
  void set_gang_finalizers(std::string name, Json finalizers) {
    on_gang({.verb = kube::Verb::Patch,
             .body = {{"metadata", {{"finalizers", std::move(finalizers)}}}},
             .patch_type = kube::PatchType::Merge},
            std::move(name));
  }
  std::string gang(std::string_view name) const {
    const auto* group = mirror().find("PodGroup", name);
    if (!group) return "none";
    const auto* amounts = find(*group, {"spec", "minResources"});
    return fmt::format("{} {}", int_at(*group, {"spec", "minMember"}),
                       amounts ? dump_json(*amounts) : "");
  }

 private:
  void on_gang(kube::Request request, std::string name) {
    request.resource = kVolcanoPodGroups;
    request.namespace_ = "default";
    request.name = std::move(name);
    const auto done = loop().run(server().call(std::move(request)));
    EXPECT_TRUE(done) << done.error().message;
  }
};
struct Volcano : Scheduled {
  Volcano() : Scheduled("volcano", {kVolcanoPodGroups}) {}
};

std::string with_labels(const char* manifest, std::string_view name, std::string_view labels) {
  std::string text = manifest;
  const auto plain = fmt::format("metadata: {{name: {}}}", name);
  text.replace(text.find(plain), plain.size(),
               fmt::format("metadata: {{name: {}, labels: {{{}}}}}", name, labels));
  return text;
}

const char* const kNothing = "0 {}";

TEST(SchedulerCase, SEEN_20_AConflictDoesNotKeepTheQueuesCapacity) {
  for (const auto fault : {CallFault::Conflict, CallFault::LostReply, CallFault::Unavailable,
                           CallFault::CrashBefore, CallFault::CrashAfter}) {
    SCOPED_TRACE(static_cast<int>(fault));
    Volcano world;
    world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
    ASSERT_EQ(world.gang("ray-j-pg"), R"(2 {"cpu":"1500m","memory":"2248Mi"})");
    world.faults().on_write = [fault, done = false](std::size_t,
                                                    const kube::Request& request) mutable {
      const bool last = !done && request.resource == kVolcanoPodGroups &&
                        !find(request.body, {"spec", "minMember"});
      done = done || last;
      return last ? fault : CallFault::None;
    };
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
    EXPECT_EQ(world.injected().size(), 1u);
    EXPECT_TRUE(world.mirror().list("RayCluster").empty());
    EXPECT_EQ(world.gang("ray-j-pg"), kNothing);
  }
}

TEST(SchedulerCase, SEEN_21_AGangAsksForWhatItNeeds) {
  Volcano world;
  world.stop_operator().apply(kCluster);
  world.patch("RayCluster", "c", R"(
spec: {workerGroupSpecs: [
  {groupName: few, replicas: 1, minReplicas: 1, maxReplicas: 9, template: {spec: {containers: [
    {name: w, image: ray, resources: {limits: {cpu: "1"}}}]}}},
  {groupName: capped, replicas: 9, minReplicas: 0, maxReplicas: 2, template: {spec: {containers: [
    {name: w, image: ray, resources: {limits: {cpu: "10"}}}]}}}]})");
  world.patch("RayCluster", "c", "{spec: {suspend: false}}").start_operator();
  world.run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.workers("c").size(), 3u);
  EXPECT_EQ(world.gang("ray-c-pg"), R"(4 {"cpu":"22","memory":"2Gi"})");
}

TEST(SchedulerCase, SEEN_22_FalseDoesNotSwitchGangsOn) {
  Scheduled world("scheduler-plugins", {kCoschedulingPodGroups});
  world.apply(with_labels(kCluster, "c", R"(ray.io/gang-scheduling-enabled: "false")"))
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_EQ(world.gang("c"), "none");
  const auto& head = world.get("Pod", world.head("c"));
  EXPECT_EQ(label_of(head, "scheduling.x-k8s.io/pod-group"), "");
  EXPECT_EQ(string_at(head, {"spec", "schedulerName"}), "scheduler-plugins-scheduler");
}

TEST(SchedulerCase, SEEN_23_WhatASchedulerCannotTakeIsSaid) {
  struct Row {
    const char* scheduler;
    const char* lines;
    bool taken;
  };
  for (const auto& row : {Row{"scheduler-plugins", "", false},
                          Row{"scheduler-plugins", "  submissionMode: HTTPMode\n", false},
                          Row{"kai-scheduler", "", false},
                          Row{"kai-scheduler", "  submissionMode: HTTPMode\n", true}}) {
    SCOPED_TRACE(fmt::format("{} {}", row.scheduler, row.lines));
    Scheduled world(row.scheduler, {kCoschedulingPodGroups});
    world.apply(std::string(kJob) + row.lines).settle().expect_rest();
    EXPECT_EQ(!world.mirror().list("RayCluster").empty(), row.taken);
    const auto said = Contains(HasSubstr("UnsupportedByBatchScheduler"));
    if (row.taken)
      EXPECT_THAT(world.events("j"), Not(said));
    else
      EXPECT_THAT(world.events("j"), said);
  }
}

TEST(SchedulerCase, SEEN_24_ATierThatIsNoNumberIsSaid) {
  Volcano world;
  world
      .apply(with_labels(kCluster, "c",
                         "volcano.sh/network-topology-mode: hard, "
                         "volcano.sh/network-topology-highest-tier-allowed: two"))
      .settle()
      .expect_rest();
  EXPECT_TRUE(world.head("c").empty());
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("highest-tier-allowed")));
  world
      .patch("RayCluster", "c",
             R"({metadata: {labels: {volcano.sh/network-topology-highest-tier-allowed: "2"}}})")
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_EQ(
      int_at(world.get("PodGroup", "ray-c-pg"), {"spec", "networkTopology", "highestTierAllowed"}),
      2);
}

// A PodGroup of this object's.
void make_anothers(World& world, const kube::Resource& pod_groups, std::string_view name,
                   const Json& other) {
  const Json owner{{"apiVersion", string_at(other, {"apiVersion"})},
                   {"kind", string_at(other, {"kind"})},
                   {"name", name_of(other)},
                   {"uid", uid_of(other)},
                   {"controller", true}};
  const auto made = world.loop().run(world.server().create(
      pod_groups,
      {{"apiVersion", pod_groups.api_version()},
       {"kind", "PodGroup"},
       {"metadata",
        {{"name", name}, {"namespace", "default"}, {"ownerReferences", JsonArray{owner}}}},
       {"spec", {{"minMember", 99}}}}));
  ASSERT_TRUE(made) << made.error().message;
}

// Of a ConfigMap's, "owner".
void make_anothers(World& world, const kube::Resource& pod_groups, std::string_view name) {
  world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}");
  make_anothers(world, pod_groups, name, world.get("ConfigMap", "owner"));
}

TEST(SchedulerCase, SEEN_25_AnothersPodGroupIsNotJoinedUnderSchedulerPlugins) {
  for (const std::string kind : {"ConfigMap", "RayCluster"}) {
    SCOPED_TRACE(kind);
    Scheduled world("scheduler-plugins", {kCoschedulingPodGroups});
    if (kind == "RayCluster")
      world.apply(R"({apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: owner}, spec: {
          suspend: true, headGroupSpec: {template: {spec: {containers: [{name: h, image: r}]}}}}})");
    else
      world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}");
    make_anothers(world, kCoschedulingPodGroups, "c", world.get(kind, "owner"));
    world.apply(with_labels(kCluster, "c", R"(ray.io/gang-scheduling-enabled: "true")"));
    world.settle().expect_rest();
    EXPECT_TRUE(world.head("c").empty()) << "its Pods would join the other's gang";
    EXPECT_THAT(world.events("c"), Contains(HasSubstr("PodGroupNameCollision")));
    world.remove(kind, "owner").run_until(cluster_is("c", "ready")).settle();
    EXPECT_EQ(world.gang("c"), R"(3 {"cpu":"1","memory":"2Gi"})");
  }
}

TEST(SchedulerCase, SEEN_25_AnothersPodGroupIsLeftAlone) {
  Volcano world;
  make_anothers(world, kVolcanoPodGroups, "ray-c-pg");
  world.apply(kCluster).settle().expect_rest();
  EXPECT_EQ(world.gang("ray-c-pg"), "99 ");
  EXPECT_TRUE(world.head("c").empty()) << "its Pods would join the other's gang";
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("PodGroupNameCollision")));
  world.remove("ConfigMap", "owner").run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.gang("ray-c-pg"), R"(3 {"cpu":"1","memory":"2Gi"})");
}

TEST(SchedulerCase, SEEN_24_AJobSaysSoInItsStatus) {
  Volcano world;
  world
      .apply(with_labels(kJob, "j",
                         "volcano.sh/network-topology-mode: hard, "
                         "volcano.sh/network-topology-highest-tier-allowed: two"))
      .settle()
      .expect_rest();
  EXPECT_THAT(status(world, "message"), HasSubstr("highest-tier-allowed"));
  world
      .patch("RayJob", "j",
             R"({metadata: {labels: {volcano.sh/network-topology-highest-tier-allowed: "2"}}})")
      .run_until(ray_job_is("j", "RUNNING"));
}

TEST(SchedulerCase, SEEN_25_AJobSaysWhoseThePodGroupIs) {
  Volcano world;
  make_anothers(world, kVolcanoPodGroups, "ray-j-pg");
  world.apply(kJob).settle().expect_rest();
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
  EXPECT_THAT(
      status(world, "message"),
      HasSubstr("PodGroup default/ray-j-pg already exists and is not owned by this RayJob"));
  world.remove("ConfigMap", "owner").run_until(ray_job_is("j", "RUNNING"));
  EXPECT_EQ(world.gang("ray-j-pg"), R"(2 {"cpu":"1500m","memory":"2248Mi"})");
}

// Pods that wait name their PodGroup: without it their scheduler never starts them.
TEST(VolcanoStory, APodGroupThatPodsWaitForComesBack) {
  Volcano world;
  world.kubelet().hold({{"ray.io/node-type", "worker"}});
  world.apply(kJob).run_until(exists("PodGroup", "ray-j-pg")).settle();
  ASSERT_EQ(deployment(world), "Initializing");
  const auto first = uid_of(world.get("PodGroup", "ray-j-pg"));
  world.remove_gang("ray-j-pg");
  world.settle();
  ASSERT_NE(world.gang("ray-j-pg"), "none");
  EXPECT_NE(uid_of(world.get("PodGroup", "ray-j-pg")), first);
  world.kubelet().release();
  world.run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  world.remove_gang("ray-j-pg");
  world.settle();
  EXPECT_EQ(world.gang("ray-j-pg"), "none") << "who deletes a finished one's wants it gone";
}

TEST(VolcanoStory, AJobMadeAgainWaitsForItsPredecessorsPodGroup) {
  Volcano world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  world.set_gang_finalizers("ray-j-pg", JsonArray{"example.com/last"});
  const auto first = uid_of(world.get("PodGroup", "ray-j-pg"));
  world.remove("RayJob", "j").run_until(is_gone("RayJob", "j")).apply(kJob).pass(1min);
  EXPECT_THAT(status(world, "message"), HasSubstr("PodGroup default/ray-j-pg goes with its owner"));
  world.set_gang_finalizers("ray-j-pg", nullptr);
  world.run_until(ray_job_is("j", "RUNNING"));
  EXPECT_NE(uid_of(world.get("PodGroup", "ray-j-pg")), first);
}

std::string without_hosts(std::string job) {
  return job.insert(job.find("groupName"), "numOfHosts: 0\n      ");
}

TEST(SchedulerCase, RC_15_ZeroHostsReadAsOneInAJobsGang) {
  Volcano world;
  world.apply(without_hosts(kJob)).run_until(ray_job_is("j", "RUNNING"));
  EXPECT_EQ(world.gang("ray-j-pg"), R"(2 {"cpu":"1500m","memory":"2248Mi"})");
  const auto task_groups = [](const std::string& job) {
    Scheduled yunikorn("yunikorn", {});
    yunikorn.apply(with_labels(job.c_str(), "j", R"(ray.io/gang-scheduling-enabled: "true")"))
        .run_until(ray_job_is("j", "RUNNING"));
    return std::string(string_at(yunikorn.get("Pod", yunikorn.submitter_pod("j")),
                                 {"metadata", "annotations", "yunikorn.apache.org/task-groups"}));
  };
  auto job = std::string(kJob);
  job.replace(job.find("minReplicas: 0"), 14, "minReplicas: 1");
  EXPECT_THAT(task_groups(job), HasSubstr(R"("name":"g")"));
  EXPECT_EQ(task_groups(without_hosts(job)), task_groups(job));
}

TEST(SchedulerCase, BS_01_AFinishedJobHoldsWhatItsClusterHolds) {
  for (const bool kept : {false, true}) {
    SCOPED_TRACE(kept);
    Volcano world;
    auto job = std::string(kJob);
    if (kept)
      job.replace(job.find("shutdownAfterJobFinishes: true"), 30, "ttlSecondsAfterFinished: 0");
    world.apply(job).run_until(ray_job_is("j", "RUNNING"));
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle().expect_rest();
    EXPECT_EQ(world.gang("ray-j-pg"), kept ? R"(2 {"cpu":"1","memory":"2Gi"})" : kNothing);
  }
}

TEST(SchedulerCase, BS_01_ASuspendedJobHoldsNothingAndAResumedOneAll) {
  Volcano world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  const auto whole = world.gang("ray-j-pg");
  world.patch("RayJob", "j", "{spec: {suspend: true}}")
      .run_until(job_is("j", "Suspended"))
      .settle();
  EXPECT_EQ(world.gang("ray-j-pg"), kNothing);
  EXPECT_THAT(world.events("j"), Contains(HasSubstr("BatchSchedulerCleanedUp")));
  world.patch("RayJob", "j", "{spec: {suspend: false}}").run_until(ray_job_is("j", "RUNNING"));
  EXPECT_EQ(world.gang("ray-j-pg"), whole);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(SchedulerCase, BS_03_TheSubmitterIsScheduledWithItsJob) {
  Volcano world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING"));
  const auto& pod = world.get("Pod", world.submitter_pod("j"));
  EXPECT_EQ(string_at(pod, {"spec", "schedulerName"}), "volcano");
  EXPECT_EQ(string_at(pod, {"metadata", "annotations", "scheduling.k8s.io/group-name"}),
            "ray-j-pg");
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

TEST(SchedulerCase, BS_05_ASchedulerThatIsNotInstalledIsSaidAndWaitedFor) {
  World world({.batch_scheduler = "volcano"});
  world.apply(kCluster).pass(2min);
  EXPECT_TRUE(world.head("c").empty());
  EXPECT_EQ(condition_of(world.get("RayCluster", "c"), "ReplicaFailure"),
            "True FailedCreatePodGroup");
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("FailedToCreatePodGroup")));
  EXPECT_TRUE(world.mirror().find("Service", "c-head-svc")) << "the rest goes on";
  serve(world, kVolcanoPodGroups);
  world.run_until(cluster_is("c", "ready"), 30min).settle();
  EXPECT_EQ(condition_of(world.get("RayCluster", "c"), "ReplicaFailure"), "");
}

TEST(SchedulerCase, BS_05_AJobSaysWhatItsPodGroupMeets) {
  World world({.batch_scheduler = "volcano"});
  world.apply(kJob).pass(2min);
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
  EXPECT_THAT(status(world, "message"), HasSubstr("creating the PodGroup: "));
  serve(world, kVolcanoPodGroups);
  world.run_until(ray_job_is("j", "RUNNING"), 30min);
}

TEST(KubernetesWasStory, EachSizeTakesANewWorkload) {
  World world({.feature_gates = "KubernetesWAS=true", .start_operator = false});
  serve(world, kWorkloads);
  serve(world, kPodGroups);
  world.start_operator()
      .apply(with_labels(kCluster, "c", R"(ray.io/gang-scheduling-enabled: "true")"))
      .run_until(cluster_is("c", "ready"))
      .settle()
      .expect_rest();
  const auto members = [&world] {
    return int_at(world.get("PodGroup", "c-cluster"),
                  {"spec", "schedulingPolicy", "gang", "minCount"});
  };
  EXPECT_EQ(members(), 3);
  const auto first = uid_of(world.get("Workload", "c"));
  world.patch("RayCluster", "c", fmt::format(fmt::runtime(kGroup), 4))
      .run_until(has_workers("c", 4))
      .settle()
      .expect_rest();
  EXPECT_EQ(members(), 5);
  EXPECT_NE(uid_of(world.get("Workload", "c")), first);
  world.patch("RayCluster", "c", "{metadata: {labels: {ray.io/gang-scheduling-enabled: null}}}")
      .run_until(is_gone("Workload", "c"))
      .settle();
  EXPECT_FALSE(world.mirror().find("PodGroup", "c-cluster"));
  EXPECT_EQ(world.mirror().created("Pod"), 5) << "the Pods that run stay";
}

}  // namespace
}  // namespace manta::integration
