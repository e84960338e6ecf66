#include "controllers/batchscheduler/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers::batchscheduler {
namespace {

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
