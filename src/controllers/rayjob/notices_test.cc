#include "controllers/rayjob/notices.h"

#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::Desk;
using testing::World;

TEST(RayJobNotice, IsAnEventTheFirstTimeAndAConditionAsLongAsItHolds) {
  World world;
  Desk first(world);
  give_notice(first.draft, kNameConflict, "a Job is in the way");
  ASSERT_EQ(first.draft.plan.events.size(), 1u);
  EXPECT_EQ(first.draft.plan.events[0].type, kube::EventType::Warning);
  EXPECT_EQ(first.draft.plan.events[0].reason, "NameConflict");
  EXPECT_EQ(first.draft.plan.events[0].note, "a Job is in the way");

  world.job.status = first.draft.status;
  world.now += std::chrono::minutes{1};
  world.job.meta.generation = 2;
  Desk second(world);
  give_notice(second.draft, kNameConflict, "it still is");
  EXPECT_TRUE(second.draft.plan.events.empty());
  ASSERT_EQ(second.draft.status.conditions.size(), 1u);
  const auto& condition = second.draft.status.conditions[0];
  EXPECT_EQ(condition.status, "True");
  EXPECT_EQ(condition.message, "it still is");
  EXPECT_EQ(condition.observedGeneration, 2);
  EXPECT_EQ(condition.lastTransitionTime, testing::kNow) << "since when, not since the last look";
}

TEST(RayJobNotice, TakenBackLeavesTheOthers) {
  World world;
  Desk desk(world);
  give_notice(desk.draft, kNameConflict, "x");
  give_notice(desk.draft, kSubmitterEnded, "y");
  take_notice_back(desk.draft, kNameConflict);
  take_notice_back(desk.draft, kDashboardSilent);  // was not given
  ASSERT_EQ(desk.draft.status.conditions.size(), 1u);
  EXPECT_EQ(desk.draft.status.conditions[0].type, "SubmitterEnded");
}

}  // namespace
}  // namespace manta::controllers::rayjob
