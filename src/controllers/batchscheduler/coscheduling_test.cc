#include "controllers/batchscheduler/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers::batchscheduler {
namespace {

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

// SEEN-25
TEST(Coscheduling, AnothersPodGroupIsInTheWay) {
  const auto first = made(decide_gang(gang_cluster(), {}, SchedulerPlugins));
  const auto outline_of = [&](auto edit) {
    return outline(
        decide_gang(gang_cluster(), {.pod_group = edited(first, edit)}, SchedulerPlugins));
  };
  EXPECT_EQ(outline_of([](auto&) {}), "") << "ours, which upstream does not mark as controlled";
  EXPECT_EQ(outline_of([](auto& live) { live.meta.owners.clear(); }), "") << "made by hand for it";
  EXPECT_EQ(outline_of([](auto& live) { owned_by(live, "JobSet", "c", "j-uid"); }),
            " ! PodGroupNameCollision blocked");
  const auto owned_by_no_controller = [&](std::string kind, std::string name) {
    return outline_of([&](auto& live) {
      owned_by(live, kind, name, "other-uid");
      live.meta.owners.front().controller = false;
    });
  };
  EXPECT_EQ(owned_by_no_controller("RayCluster", "d"), " ! PodGroupNameCollision blocked");
  EXPECT_EQ(owned_by_no_controller("RayCluster", "c"), " blocked") << "goes with its owner";
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

}  // namespace
}  // namespace manta::controllers::batchscheduler
