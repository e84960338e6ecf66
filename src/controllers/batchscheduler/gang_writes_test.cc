#include "controllers/batchscheduler/gang_writes.h"

#include <gtest/gtest.h>

namespace manta::controllers::batchscheduler {
namespace {

kube::ObjectMeta owned(std::string kind, std::string name, std::string uid,
                       bool controller = true) {
  kube::ObjectMeta meta{.key = {"ns", "g"}, .uid = "g-uid"};
  meta.owners = {{"ray.io/v1", std::move(kind), std::move(name), std::move(uid), controller, true}};
  return meta;
}

struct Case {
  const char* name;
  kube::ObjectMeta live;
  Belongs want;
};
const Case kCases[] = {
    {"NoOwner", {.key = {"ns", "g"}}, Belongs::Nobody},
    {"OwnerThatControlsNothing", owned("RayCluster", "c", "c-uid", false), Belongs::Nobody},
    {"Us", owned("RayCluster", "c", "c-uid"), Belongs::Us},
    {"OneOfOurNameThatIsGone", owned("RayCluster", "c", "old-uid"), Belongs::Predecessor},
    {"AnotherCluster", owned("RayCluster", "d", "d-uid"), Belongs::Others},
    {"AnotherKindOfOurName", owned("RayJob", "c", "j-uid"), Belongs::Others},
};
class Whose : public testing::TestWithParam<Case> {};
TEST_P(Whose, Row) {
  const kube::ObjectMeta owner{.key = {"ns", "c"}, .uid = "c-uid"};
  EXPECT_EQ(whose(GetParam().live, owner, "RayCluster"), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, Whose, testing::ValuesIn(kCases), [](auto& c) { return c.param.name; });

TEST(GangWrites, SayWhatFailedAndWhereItBacksOff) {
  const Json body{{"metadata", {{"name", "g"}, {"namespace", "ns"}}}};
  const auto made = create_gang_object(kVolcanoPodGroups, body);
  EXPECT_EQ(made.lane, kGangLane);
  EXPECT_EQ(made.marker, "FailedCreatePodGroup");
  EXPECT_EQ(made.failed_event->reason, "FailedToCreatePodGroup");
  EXPECT_EQ(made.failed_event->note, "Failed to create PodGroup ns/g: {error}");
  const auto gone = delete_gang_object(kWorkloads, {.key = {"ns", "w"}, .uid = "w-uid"}, "why");
  EXPECT_EQ(gone.precondition_uid, "w-uid") << "this object and no successor";
  EXPECT_EQ(gone.done_event->note, "Deleted Workload ns/w: why");
  EXPECT_EQ(gone.marker, "FailedDeleteWorkload");
}

}  // namespace
}  // namespace manta::controllers::batchscheduler
