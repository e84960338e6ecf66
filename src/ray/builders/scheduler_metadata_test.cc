#include "ray/builders/scheduler_metadata.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

struct Case {
  const char* name;
  StringMap labels;
  bool gang;
};
const Case kCases[] = {
    {"Absent", {}, false},
    {"True", {{"ray.io/gang-scheduling-enabled", "true"}}, true},
    {"AnyValue", {{"ray.io/gang-scheduling-enabled", "on"}}, true},
    {"Empty", {{"ray.io/gang-scheduling-enabled", ""}}, true},
    {"False", {{"ray.io/gang-scheduling-enabled", "false"}}, false},  // SEEN-22
    {"FalseInAnyCase", {{"ray.io/gang-scheduling-enabled", "FALSE"}}, false},
    {"NotQuiteFalse", {{"ray.io/gang-scheduling-enabled", "falsey"}}, true},
};
class AsksForGang : public testing::TestWithParam<Case> {};
TEST_P(AsksForGang, Row) {
  EXPECT_EQ(asks_for_gang({.labels = GetParam().labels}), GetParam().gang);
}
TEST_P(AsksForGang, AndItsPodsSaySo) {
  RayCluster cluster;
  cluster.meta.key = {"ns", "c"};
  cluster.meta.labels = GetParam().labels;
  for (const auto& [scheduler, mark] :
       {std::pair{BatchScheduler::Yunikorn, "yunikorn.apache.org/task-groups"},
        std::pair{BatchScheduler::SchedulerPlugins, "scheduling.x-k8s.io/pod-group"}}) {
    Json pod = JsonObject{};
    add_scheduler_metadata(pod, cluster, "headgroup", {.scheduler = scheduler});
    EXPECT_EQ(dump_json(pod).find(mark) != std::string::npos, GetParam().gang) << mark;
  }
}
// A job on somebody's cluster has no groups to tell of, other than those that its user wrote down.
TEST(YunikornGang, OfAJobWithAClusterSelectorIsOnlyTheUsersOwn) {
  const auto submitter = [](const StringMap& annotations) {
    RayJob job;
    job.meta = {
        .key = {"ns", "j"},
        .labels = {{"ray.io/gang-scheduling-enabled", "true"}, {"yunikorn.apache.org/app-id", "a"}},
        .annotations = annotations};
    job.spec.clusterSelector = {{"ray.io/cluster", "c"}};
    Json pod = JsonObject{};
    add_scheduler_metadata(pod, job, "submittergroup", {.scheduler = BatchScheduler::Yunikorn});
    return dump_json(pod);
  };
  EXPECT_EQ(submitter({}),
            R"({"metadata":{"labels":{"applicationId":"a"}},"spec":{"schedulerName":"yunikorn"}})");
  EXPECT_NE(submitter({{"yunikorn.apache.org/task-groups", "[mine]"}})
                .find(R"("yunikorn.apache.org/task-groups":"[mine]")"),
            std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(, AsksForGang, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace manta::ray
