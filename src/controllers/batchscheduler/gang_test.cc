#include "controllers/batchscheduler/gang.h"

#include "controllers/raycluster/testing.h"
#include "ray/labels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::batchscheduler {
namespace {

using enum ray::BatchScheduler;
using raycluster::testing::kNow;
using raycluster::testing::pod_template;

ray::RayCluster labelled(std::initializer_list<std::pair<const char*, const char*>> labels,
                         std::int32_t replicas = 2, std::int32_t hosts = 1) {
  auto cluster = raycluster::testing::cluster(replicas, hosts);
  for (const auto& [key, value] : labels) cluster.meta.labels[key] = value;
  return cluster;
}
ray::RayCluster gang_cluster(std::int32_t replicas = 2) {
  return labelled({{"ray.io/gang-scheduling-enabled", "true"}}, replicas);
}
ray::RayJob job(std::string_view mode = "K8sJobMode") {
  ray::RayJob out;
  out.meta = {.key = {"ns", "j"}, .uid = "j-uid", .resource_version = 1};
  out.spec.submissionMode = mode;
  out.spec.rayClusterSpec = raycluster::testing::cluster().spec;
  out.status.rayClusterName = "j-x";
  return out;
}

// "stage; stage | events | blocked", a write as "verb Kind".
std::string outline(const GangDecision& gang) {
  std::string text;
  for (const auto& stage : gang.stages)
    for (const auto& write : stage) {
      const auto verb = write.kind == kube::WriteKind::Create   ? "create"
                        : write.kind == kube::WriteKind::Update ? "update"
                        : write.kind == kube::WriteKind::Patch  ? "patch"
                                                                : "delete";
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", verb, write.resource.kind);
    }
  for (const auto& event : gang.events) text += " ! " + event.reason;
  if (!gang.blocked.empty()) text += " blocked";
  return text;
}

// What the first write leaves, as the cache would show it.
std::shared_ptr<const kube::SpecView> made(const GangDecision& gang, std::size_t stage = 0) {
  auto view = kube::project_spec(gang.stages.at(stage).at(0).body).value();
  view.meta.uid = "g-uid";
  view.meta.resource_version = 3;
  return std::make_shared<const kube::SpecView>(std::move(view));
}
std::shared_ptr<const kube::SpecView> edited(std::shared_ptr<const kube::SpecView> from,
                                             auto edit) {
  auto copy = *from;
  edit(copy);
  return std::make_shared<const kube::SpecView>(std::move(copy));
}
void owned_by(kube::SpecView& view, std::string kind, std::string name, std::string uid) {
  view.meta.owners = {{"ray.io/v1", std::move(kind), std::move(name), std::move(uid), true, true}};
}
void terminating(kube::SpecView& view) { view.meta.deleting = kNow; }

std::string spec_of(const GangDecision& gang) {
  return dump_json(*find(gang.stages.at(0).at(0).body, {"spec"}));
}

// ---- Volcano

TEST(Volcano, EveryClusterGetsAPodGroupOfItsSize) {
  const auto gang = decide_gang(labelled({}, 2, 2), {}, Volcano);
  EXPECT_EQ(outline(gang), "create PodGroup");
  EXPECT_EQ(spec_of(gang), R"({"minMember":5,"minResources":{"cpu":"5","memory":"5Gi"}})");
  EXPECT_EQ(string_at(gang.stages[0][0].body, {"metadata", "name"}), "ray-c-pg");
}

TEST(Volcano, AutoscaledOnesAskForTheirMinimum) {
  auto cluster = labelled({}, 3);
  cluster.spec.enableInTreeAutoscaling = true;
  cluster.spec.workerGroupSpecs[0].minReplicas = 1;
  EXPECT_EQ(spec_of(decide_gang(cluster, {}, Volcano)),
            R"({"minMember":2,"minResources":{"cpu":"2","memory":"2Gi"}})");
}

// SEEN-21
TEST(Volcano, ResourcesAreThoseOfTheMembers) {
  auto cluster = labelled({}, 10);
  auto& group = cluster.spec.workerGroupSpecs[0];
  group.maxReplicas = 4;
  EXPECT_EQ(spec_of(decide_gang(cluster, {}, Volcano)),
            R"({"minMember":5,"minResources":{"cpu":"5","memory":"5Gi"}})");
  group.replicas.reset();
  group.minReplicas = 3;
  EXPECT_EQ(spec_of(decide_gang(cluster, {}, Volcano)),
            R"({"minMember":4,"minResources":{"cpu":"4","memory":"4Gi"}})");
  group.suspend = true;
  EXPECT_EQ(spec_of(decide_gang(cluster, {}, Volcano)),
            R"({"minMember":1,"minResources":{"cpu":"1","memory":"1Gi"}})");
}

TEST(Volcano, LabelsAndAnnotationsGoOn) {
  auto cluster = labelled({{"volcano.sh/queue-name", ""},
                           {"ray.io/priority-class-name", "high"},
                           {"volcano.sh/network-topology-mode", "soft"},
                           {"volcano.sh/network-topology-highest-tier-allowed", "+2"}});
  cluster.meta.annotations = {{"a", "b"}};
  const auto gang = decide_gang(cluster, {}, Volcano);
  EXPECT_EQ(spec_of(gang), R"({"minMember":3,"minResources":{"cpu":"3","memory":"3Gi"},"queue":"",)"
                           R"("priorityClassName":"high",)"
                           R"("networkTopology":{"mode":"soft","highestTierAllowed":2}})");
  EXPECT_EQ(dump_json(*find(gang.stages[0][0].body, {"metadata", "annotations"})), R"({"a":"b"})");
  EXPECT_FALSE(find(gang.stages[0][0].body, {"metadata", "labels"}));
}

struct TierCase {
  const char* name;
  ray::RayCluster cluster;
  const char* want;
};
const char* const kMode = "volcano.sh/network-topology-mode";
const char* const kTier = "volcano.sh/network-topology-highest-tier-allowed";
const TierCase kTiers[] = {
    {"WithoutMode", labelled({{kTier, "two"}}), "create PodGroup"},
    {"NoNumber", labelled({{kMode, "hard"}, {kTier, "two"}}),
     " ! InvalidRayClusterMetadata blocked"},
    {"Empty", labelled({{kMode, "hard"}, {kTier, ""}}), " ! InvalidRayClusterMetadata blocked"},
    {"Fraction", labelled({{kMode, "hard"}, {kTier, "1.5"}}),
     " ! InvalidRayClusterMetadata blocked"},
    {"TooLarge", labelled({{kMode, "hard"}, {kTier, "9223372036854775808"}}),
     " ! InvalidRayClusterMetadata blocked"},
    {"Negative", labelled({{kMode, "hard"}, {kTier, "-1"}}), "create PodGroup"},
};
class VolcanoTier : public testing::TestWithParam<TierCase> {};
TEST_P(VolcanoTier, Row) {
  EXPECT_EQ(outline(decide_gang(GetParam().cluster, {}, Volcano)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, VolcanoTier, testing::ValuesIn(kTiers),
                         [](const auto& row) { return row.param.name; });

TEST(Volcano, OnlyTheSizeFollows) {
  auto cluster = labelled({{"volcano.sh/queue-name", "q"}});
  const auto first = made(decide_gang(cluster, {}, Volcano));
  EXPECT_EQ(outline(decide_gang(cluster, {.pod_group = first}, Volcano)), "");
  cluster.meta.labels["volcano.sh/queue-name"] = "other";
  EXPECT_EQ(outline(decide_gang(cluster, {.pod_group = first}, Volcano)), "");
  cluster.spec.workerGroupSpecs[0].replicas = 3;
  const auto grown = decide_gang(cluster, {.pod_group = first}, Volcano);
  EXPECT_EQ(outline(grown), "update PodGroup");
  EXPECT_EQ(spec_of(grown),
            R"({"minMember":4,"minResources":{"cpu":"4","memory":"4Gi"},"queue":"q"})");
  EXPECT_EQ(string_at(grown.stages[0][0].body, {"metadata", "resourceVersion"}), "3");
}

TEST(Volcano, EqualAmountsAreNoChange) {
  const auto cluster = labelled({});
  const auto same = edited(made(decide_gang(cluster, {}, Volcano)), [](auto& group) {
    ensure(group.spec, {"minResources", "cpu"}) = "3000m";
    ensure(group.spec, {"minResources", "memory"}) = "3072Mi";
  });
  EXPECT_EQ(outline(decide_gang(cluster, {.pod_group = same}, Volcano)), "");
  const auto unset =
      edited(same, [](auto& group) { group.spec.as_object().erase("minResources"); });
  EXPECT_EQ(outline(decide_gang(cluster, {.pod_group = unset}, Volcano)), "update PodGroup");
}

struct OwnerCase {
  const char* name;
  void (*edit)(kube::SpecView&);
  const char* want;
};
const OwnerCase kOwners[] = {
    {"MadeByHandIsAdjusted", [](auto& group) { group.meta.owners.clear(); }, "update PodGroup"},
    {"AnotherOwnersIsLeftAlone", [](auto& group) { owned_by(group, "RayJob", "c", "other"); },
     " ! PodGroupNameCollision blocked"},
    {"APredecessorsGoes", [](auto& group) { owned_by(group, "RayCluster", "c", "old"); },
     " blocked"},
    {"OnItsWayOut", terminating, " blocked"},
};
class VolcanoOwner : public testing::TestWithParam<OwnerCase> {};
TEST_P(VolcanoOwner, Row) {
  auto cluster = labelled({});
  auto group = edited(made(decide_gang(cluster, {}, Volcano)), GetParam().edit);
  cluster.spec.workerGroupSpecs[0].replicas = 5;
  EXPECT_EQ(outline(decide_gang(cluster, {.pod_group = group}, Volcano)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, VolcanoOwner, testing::ValuesIn(kOwners),
                         [](const auto& row) { return row.param.name; });

TEST(Volcano, ARayJobsClusterUsesTheRayJobsGang) {
  const auto cluster =
      labelled({{"ray.io/originated-from-crd", "RayJob"}, {"ray.io/originated-from-cr-name", "j"}});
  EXPECT_EQ(outline(decide_gang(cluster, {}, Volcano)), "");
}

TEST(Volcano, TheSubmitterCountsAsResourcesOnly) {
  EXPECT_EQ(spec_of(decide_gang(job("K8sJobMode"), {}, Volcano)),
            R"({"minMember":3,"minResources":{"cpu":"3500m","memory":"3272Mi"}})");
  EXPECT_EQ(spec_of(decide_gang(job("SidecarMode"), {}, Volcano)),
            R"({"minMember":3,"minResources":{"cpu":"3500m","memory":"3272Mi"}})");
  EXPECT_EQ(spec_of(decide_gang(job("HTTPMode"), {}, Volcano)),
            R"({"minMember":3,"minResources":{"cpu":"3","memory":"3Gi"}})");
  auto own = job();
  own.spec.submitterPodTemplate = pod_template("s");
  EXPECT_EQ(spec_of(decide_gang(own, {}, Volcano)),
            R"({"minMember":3,"minResources":{"cpu":"4","memory":"4Gi"}})");
}

TEST(Volcano, WhatTheClusterHoldsNoMoreIsGivenBack) {
  const auto gang = made(decide_gang(job(), {}, Volcano));
  auto cluster = raycluster::testing::cluster();
  const auto spec_after = [&](const ray::RayCluster* live) {
    const auto released = release_gang(job(), live, {.pod_group = gang}, Volcano);
    EXPECT_EQ(released.stages[0][0].done_event->reason, "BatchSchedulerCleanedUp");
    return spec_of(released);
  };
  EXPECT_EQ(spec_after(&cluster), R"({"minMember":3,"minResources":{"cpu":"3","memory":"3Gi"}})");
  cluster.spec.workerGroupSpecs[0].suspend = true;
  EXPECT_EQ(spec_after(&cluster), R"({"minMember":1,"minResources":{"cpu":"1","memory":"1Gi"}})");
  cluster.meta.deleting = kNow;
  EXPECT_EQ(spec_after(&cluster), R"({"minResources":{}})");
  EXPECT_EQ(spec_after(nullptr), R"({"minResources":{}})");
}

TEST(Volcano, GivenBackOnce) {
  const auto gang = made(decide_gang(job(), {}, Volcano));
  const auto empty = made(release_gang(job(), nullptr, {.pod_group = gang}, Volcano));
  EXPECT_EQ(outline(release_gang(job(), nullptr, {.pod_group = empty}, Volcano)), "");
}

TEST(Volcano, WhatIsNotOursIsNotGivenBack) {
  const auto gang = edited(made(decide_gang(job(), {}, Volcano)),
                           [](auto& group) { owned_by(group, "RayCluster", "j", "other"); });
  EXPECT_EQ(outline(release_gang(job(), nullptr, {.pod_group = gang}, Volcano)), "");
  auto selecting = job();
  selecting.spec.clusterSelector = {{"ray.io/cluster", "c"}};
  EXPECT_EQ(outline(release_gang(selecting, nullptr, {}, Volcano)), "");
  auto unborn = job();
  unborn.status.rayClusterName.clear();
  EXPECT_EQ(outline(release_gang(unborn, nullptr, {}, Volcano)), "");
}

// ---- scheduler-plugins

TEST(Coscheduling, OnlyLabelledClustersGetAPodGroupAndItNeverChanges) {
  EXPECT_EQ(outline(decide_gang(labelled({}), {}, SchedulerPlugins)), "");
  const auto gang = decide_gang(gang_cluster(), {}, SchedulerPlugins);
  EXPECT_EQ(outline(gang), "create PodGroup");
  EXPECT_EQ(spec_of(gang), R"({"minMember":3,"minResources":{"cpu":"3","memory":"3Gi"}})");
  EXPECT_EQ(dump_json(*find(gang.stages[0][0].body, {"metadata"})),
            R"({"name":"c","namespace":"ns","ownerReferences":[{"apiVersion":"ray.io/v1",)"
            R"("kind":"RayCluster","name":"c","uid":"c-uid"}]})");
  EXPECT_EQ(outline(decide_gang(gang_cluster(7), {.pod_group = made(gang)}, SchedulerPlugins)), "");
}

TEST(Coscheduling, CountsCurrentReplicasUnderAnAutoscaler) {
  auto cluster = gang_cluster();
  cluster.spec.enableInTreeAutoscaling = true;
  EXPECT_EQ(spec_of(decide_gang(cluster, {}, SchedulerPlugins)),
            R"({"minMember":3,"minResources":{"cpu":"3","memory":"3Gi"}})");
}

// SEEN-22
TEST(Coscheduling, FalseMeansNo) {
  for (const char* no : {"false", "False"})
    EXPECT_EQ(outline(decide_gang(labelled({{"ray.io/gang-scheduling-enabled", no}}), {},
                                  SchedulerPlugins)),
              "");
  for (const char* yes : {"true", "yes", ""})
    EXPECT_EQ(outline(decide_gang(labelled({{"ray.io/gang-scheduling-enabled", yes}}), {},
                                  SchedulerPlugins)),
              "create PodGroup");
}

// ---- Kubernetes' own

GangSeen whole(const ray::RayCluster& cluster) {
  const auto gang = decide_gang(cluster, {}, KubernetesWas);
  return {.pod_group = made(gang, 1), .workload = made(gang, 0)};
}

TEST(KubernetesWas, MakesTheWorkloadThenThePodGroup) {
  const auto gang = decide_gang(gang_cluster(), {}, KubernetesWas);
  EXPECT_EQ(outline(gang), "create Workload; create PodGroup");
  EXPECT_EQ(dump_json(*find(gang.stages[0][0].body, {"spec"})),
            R"({"controllerRef":{"apiGroup":"ray.io","kind":"RayCluster","name":"c"},)"
            R"("podGroupTemplates":[{"name":"cluster","schedulingPolicy":)"
            R"({"gang":{"minCount":3}}}]})");
  EXPECT_EQ(string_at(gang.stages[1][0].body, {"metadata", "name"}), "c-cluster");
  EXPECT_EQ(dump_json(*find(gang.stages[1][0].body, {"spec"})),
            R"({"podGroupTemplateRef":{"workload":{"workloadName":"c",)"
            R"("podGroupTemplateName":"cluster"}},"schedulingPolicy":{"gang":{"minCount":3}}})");
}

struct WasCase {
  const char* name;
  ray::RayCluster cluster;  // as it is now; the gang was made for two workers
  void (*edit)(GangSeen&);  // what became of the gang
  const char* want;
};
ray::RayCluster autoscaled() {
  auto cluster = gang_cluster();
  cluster.spec.enableInTreeAutoscaling = true;
  return cluster;
}
void protect(kube::SpecView& view) {
  view.meta.finalizers = {"mine/keep", "scheduling.k8s.io/podgroup-protection"};
}
void as_is(GangSeen&) {}
void no_pod_group(GangSeen& seen) { seen.pod_group.reset(); }
void nothing(GangSeen& seen) { seen = {}; }
void foreign_group(GangSeen& seen) {
  seen.pod_group =
      edited(seen.pod_group, [](auto& view) { owned_by(view, "RayCluster", "d", "d-uid"); });
}
void foreign_workload(GangSeen& seen) {
  seen.workload =
      edited(seen.workload, [](auto& view) { owned_by(view, "RayCluster", "d", "d-uid"); });
}
const WasCase kWas[] = {
    {"Settled", gang_cluster(), as_is, ""},
    {"PodGroupLost", gang_cluster(), no_pod_group, "create PodGroup"},
    {"GrownWithPodGroup", gang_cluster(3), as_is, "delete PodGroup blocked"},
    {"GrownWithProtectedPodGroup", gang_cluster(3),
     [](GangSeen& seen) { seen.pod_group = edited(seen.pod_group, protect); },
     "patch PodGroup; delete PodGroup blocked"},
    {"PodGroupGoing", gang_cluster(3),
     [](GangSeen& seen) { seen.pod_group = edited(seen.pod_group, terminating); }, " blocked"},
    {"ProtectedPodGroupGoing", gang_cluster(3),
     [](GangSeen& seen) { seen.pod_group = edited(edited(seen.pod_group, terminating), protect); },
     "patch PodGroup blocked"},
    {"GrownWithoutPodGroup", gang_cluster(3), no_pod_group, "delete Workload blocked"},
    {"GrownBesideForeignPodGroup", gang_cluster(3), foreign_group, "delete Workload blocked"},
    {"WorkloadGoing", gang_cluster(3),
     [](GangSeen& seen) { seen.workload = edited(seen.workload, terminating); }, " blocked"},
    {"BothGone", gang_cluster(3), nothing, "create Workload; create PodGroup"},
    {"ForeignWorkload", gang_cluster(), foreign_workload, " ! WorkloadNameCollision blocked"},
    {"ForeignPodGroup", gang_cluster(), foreign_group, " ! PodGroupNameCollision blocked"},
    {"PodGroupOfAnotherSize", gang_cluster(),
     [](GangSeen& seen) {
       seen.pod_group = edited(seen.pod_group, [](auto& view) {
         ensure(view.spec, {"schedulingPolicy", "gang", "minCount"}) = 9;
       });
     },
     "delete PodGroup blocked"},
    {"TwoTemplates", gang_cluster(),
     [](GangSeen& seen) {
       seen.workload = edited(seen.workload, [](auto& view) {
         auto& templates = view.spec.at("podGroupTemplates").as_array();
         templates.push_back(Json(templates[0]));
       });
     },
     "delete PodGroup blocked"},
    {"AutoscaledHasNone", autoscaled(), nothing, ""},
    {"AutoscaledLosesIts", autoscaled(), as_is, "delete PodGroup blocked"},
    {"UnlabelledLosesItsWorkload", labelled({}), no_pod_group, "delete Workload"},
    {"UnlabelledWaitsForItsWorkload", labelled({}),
     [](GangSeen& seen) {
       seen.pod_group.reset();
       seen.workload = edited(seen.workload, terminating);
     },
     " blocked"},
    {"UnlabelledLeavesForeignOnesAlone", labelled({}),
     [](GangSeen& seen) {
       foreign_group(seen);
       foreign_workload(seen);
     },
     ""},
};
class KubernetesWasCase : public testing::TestWithParam<WasCase> {};
TEST_P(KubernetesWasCase, Row) {
  auto seen = whole(gang_cluster());
  GetParam().edit(seen);
  EXPECT_EQ(outline(decide_gang(GetParam().cluster, seen, KubernetesWas)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, KubernetesWasCase, testing::ValuesIn(kWas),
                         [](const auto& row) { return row.param.name; });

TEST(KubernetesWas, OtherFinalizersStay) {
  auto seen = whole(gang_cluster());
  seen.pod_group = edited(seen.pod_group, protect);
  const auto gang = decide_gang(gang_cluster(3), seen, KubernetesWas);
  EXPECT_EQ(dump_json(*find(gang.stages.at(0).at(0).body, {"metadata", "finalizers"})),
            R"(["mine/keep"])");
  EXPECT_EQ(gang.stages.at(1).at(0).precondition_uid, "g-uid");
}

// ---- all

TEST(Gangs, SchedulersWithoutObjectsMakeNone) {
  for (const auto scheduler : {None, Yunikorn, Kai}) {
    EXPECT_EQ(pod_groups_of(scheduler), nullptr);
    EXPECT_EQ(outline(decide_gang(gang_cluster(), {}, scheduler)), "");
    EXPECT_EQ(outline(decide_gang(job(), {}, scheduler)), "");
    EXPECT_EQ(outline(release_gang(job(), nullptr, {}, scheduler)), "");
  }
}

TEST(Gangs, NamesLeadBackToTheirOwners) {
  for (const auto scheduler : {Volcano, SchedulerPlugins, KubernetesWas})
    EXPECT_EQ(owner_of_pod_group(
                  pod_group_name(gang_cluster().meta, ray::kKindRayCluster, scheduler), scheduler),
              "c");
  for (const char* name : {"ray-pg", "ray--pg", "c", "ray-c"})
    EXPECT_EQ(owner_of_pod_group(name, Volcano), "") << name;
  EXPECT_EQ(owner_of_pod_group("-cluster", KubernetesWas), "");
}

}  // namespace
}  // namespace manta::controllers::batchscheduler
