#include "controllers/rayjob/gang.h"

#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::Desk;
using testing::World;

World with_scheduler(ray::BatchScheduler scheduler) {
  World world;
  world.settings.build.scheduler = scheduler;
  return world;
}

// Sizes and contents of gangs: batchscheduler/gang_test.cc.
TEST(RayJobGang, WithoutOneNothingIsPlanned) {
  Desk desk(with_scheduler(ray::BatchScheduler::None));
  EXPECT_TRUE(gang_ready(desk.draft));
  EXPECT_TRUE(gang_released(desk.draft));
  EXPECT_TRUE(desk.draft.plan.stages.empty());
}

TEST(RayJobGang, IsMadeBeforeTheCluster) {
  const auto world = with_scheduler(ray::BatchScheduler::Volcano);
  Desk desk(world);
  EXPECT_TRUE(gang_ready(desk.draft)) << "the cluster may follow in the next stage";
  ASSERT_EQ(desk.draft.plan.stages.size(), 1u);
  ASSERT_EQ(desk.draft.plan.stages[0].size(), 1u);
  EXPECT_EQ(desk.draft.plan.stages[0][0].resource.plural, "podgroups");
  EXPECT_EQ(string_at(desk.draft.plan.stages[0][0].body, {"metadata", "name"}), "ray-j-pg");
}

TEST(RayJobGang, OfAnotherOwnerHoldsItUpAndIsSaid) {
  Desk desk(with_scheduler(ray::BatchScheduler::Volcano));
  auto foreign = std::make_shared<kube::SpecView>();
  foreign->meta.key = {"ns", "ray-j-pg"};
  foreign->meta.owners = {{"v1", "Pod", "p", "p-uid", true, true}};
  desk.seen.gang.pod_group = foreign;
  EXPECT_FALSE(gang_ready(desk.draft));
  EXPECT_TRUE(desk.draft.plan.stages.empty());
  EXPECT_FALSE(desk.draft.plan.events.empty());
}

TEST(RayJobGang, IsGivenBackOnceAndThenLeftAlone) {
  Desk first(with_scheduler(ray::BatchScheduler::Volcano));
  auto mine = std::make_shared<kube::SpecView>();
  mine->meta.key = {"ns", "ray-j-pg"};
  mine->meta.owners = {{"ray.io/v1", "RayJob", "j", "j-uid", true, true}};
  mine->spec = *parse_json(R"({"minMember":3,"minResources":{"cpu":"3"}})");
  first.seen.job = [&] {
    auto job = *first.seen.job;
    job.status.rayClusterName = "c";  // which is gone
    return std::make_shared<const ray::RayJob>(job);
  }();
  first.seen.gang.pod_group = mine;
  EXPECT_FALSE(gang_released(first.draft));
  ASSERT_EQ(first.draft.plan.stages.size(), 1u);
  const auto& write = first.draft.plan.stages[0][0];
  EXPECT_EQ(dump_json(*find(write.body, {"spec"})), R"({"minResources":{}})");

  auto freed = std::make_shared<kube::SpecView>(*mine);
  freed->spec = *find(write.body, {"spec"});
  Desk second(with_scheduler(ray::BatchScheduler::Volcano));
  second.seen.job = first.seen.job;
  second.seen.gang.pod_group = freed;
  EXPECT_TRUE(gang_released(second.draft));
  EXPECT_TRUE(second.draft.plan.stages.empty());
}

}  // namespace
}  // namespace manta::controllers::rayjob
