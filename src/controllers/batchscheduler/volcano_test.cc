#include "controllers/batchscheduler/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers::batchscheduler {
namespace {

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

}  // namespace
}  // namespace manta::controllers::batchscheduler
