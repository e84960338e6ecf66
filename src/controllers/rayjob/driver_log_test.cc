#include "controllers/rayjob/driver_log.h"

#include "controllers/rayjob/testing.h"

#include <functional>

namespace manta::controllers::rayjob {
namespace {

using namespace std::chrono_literals;
using testing::Desk;
using testing::World;

// A job whose cluster is about to be deleted. RJ-39
World ended(std::string_view mode = "HTTPMode") {
  World world(mode);
  world.job.spec.shutdownAfterJobFinishes = false;
  world.ready();
  world.job.status.jobId = "j-1";
  world.settings.job_gates.keep_log = true;
  return world;
}
void ray_says(World& world, Result<Json> answer, Duration failing_for = {}) {
  kube::Fact fact{.answer = std::move(answer), .at = world.now};
  if (!fact.answer) fact.failing_since = world.now - failing_for;
  world.facts.insert_or_assign("job-log", std::move(fact));
}
const Json kLog = JsonObject{{"logs", "it printed this\n"}};

// "asks", "keeps", or "lets go"; "says" when an event tells that the log is lost.
std::string outcome(const World& world) {
  Desk desk(world);
  const bool kept = log_is_kept(desk.draft);
  std::string text = !kept ? "asks" : desk.draft.plan.stages.empty() ? "lets go" : "keeps";
  if (!desk.draft.plan.events.empty()) text += ", says";
  return text;
}

struct Case {
  const char* name;
  std::function<World()> world;
  std::string_view want;
};
World with(std::function<void(World&)> change) {
  auto world = ended();
  change(world);
  return world;
}
const Case kCases[] = {
    {"RayIsAskedFirst", [] { return ended(); }, "asks"},
    {"ThenItIsWritten", [] { return with([](World& w) { ray_says(w, kLog); }); }, "keeps"},
    {"OfAnInteractiveOne", [] { return ended("InteractiveMode"); }, "asks"},
    {"OfASidecar", [] { return ended("SidecarMode"); }, "asks"},
    {"TheSubmittersPodHasItInK8sJobMode", [] { return ended("K8sJobMode"); }, "lets go"},
    {"WithoutTheGate", [] { return with([](World& w) { w.settings.job_gates.keep_log = false; }); },
     "lets go"},
    {"WithoutAHeadNobodyCanTell", [] { return with([](World& w) { w.heads.clear(); }); },
     "lets go"},
    {"BeforeItHadAnId", [] { return with([](World& w) { w.job.status.jobId = ""; }); }, "lets go"},
};
class DriverLog : public ::testing::TestWithParam<Case> {};
TEST_P(DriverLog, Row) { EXPECT_EQ(outcome(GetParam().world()), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, DriverLog, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(DriverLogTrouble, AJobThatRayNeverKnewHasNone) {
  auto world = ended();
  ray_says(world, failed(ErrorCode::NotFound, "no such job"));
  EXPECT_EQ(outcome(world), "lets go");
}

TEST(DriverLogTrouble, ADashboardThatHangsIsWaitedForNotForEver) {
  auto world = ended();
  ray_says(world, failed(ErrorCode::Timeout, "no answer"), 14s);
  EXPECT_EQ(outcome(world), "asks");
  Desk desk(world);
  EXPECT_FALSE(log_is_kept(desk.draft));
  EXPECT_EQ(desk.draft.plan.look_again, 1s);
  ray_says(world, failed(ErrorCode::Timeout, "no answer"), 15s);
  EXPECT_EQ(outcome(world), "lets go, says");
}

TEST(DriverLogTrouble, ARefusedWriteIsNotWaitedForAndTriedAgainLater) {
  auto world = ended();
  ray_says(world, kLog);
  world.failures = {{"log", {.error = {.message = "no"}, .attempts = 1, .withheld = true}}};
  EXPECT_EQ(outcome(world), "lets go");
  world.failures["log"].withheld = false;
  EXPECT_EQ(outcome(world), "keeps");
}

TEST(DriverLogWrite, GoesWithTheRayJobAndIsFoundByItsName) {
  auto world = ended();
  ray_says(world, kLog);
  Desk desk(world);
  ASSERT_TRUE(log_is_kept(desk.draft));
  const auto& write = desk.draft.plan.stages.at(0).at(0);
  EXPECT_EQ(write.key.namespace_, "ns");
  EXPECT_EQ(string_at(write.body, {"metadata", "name"}),
            world.job.status.rayClusterName + "-driver-log");
  EXPECT_EQ(string_at(write.body, {"metadata", "labels", "ray.io/originated-from-cr-name"}), "j");
  const auto& owner = array_at(write.body, {"metadata", "ownerReferences"}).at(0);
  EXPECT_EQ(string_at(owner, {"uid"}), "j-uid");
  EXPECT_EQ(string_at(write.body, {"data", "driver.log"}), "it printed this\n");
}

TEST(DriverLogPlan, TheClusterGoesOnceItIsWritten) {
  auto world = ended();
  world.job.spec.shutdownAfterJobFinishes = true;
  world.ray_says("SUCCEEDED");
  EXPECT_TRUE(world.cluster) << "Ray has not told the log yet";
  world.written();
  ray_says(world, kLog);
  const auto plan = world.look();
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].at(0).resource.plural, "configmaps");
  EXPECT_EQ(plan.stages[1].at(0).resource.plural, "rayclusters");
  EXPECT_EQ(plan.stages[1].at(0).kind, kube::WriteKind::Delete);
}

}  // namespace
}  // namespace manta::controllers::rayjob
