#include "controllers/rayjob/obstacles.h"

#include "controllers/rayjob/testing.h"

#include <functional>

namespace manta::controllers::rayjob {
namespace {

using raycluster::testing::head;
using raycluster::testing::worker;
using testing::Desk;
using testing::troubled;
using testing::World;

struct Case {
  const char* name;
  std::function<void(World&)> change;
  std::string_view says;
};
const auto going = raycluster::testing::PodSays{.deleting = true};
void refuse_pods(World& world, std::string status) {
  world.cluster->status.conditions = {
      {.type = "ReplicaFailure", .status = std::move(status), .message = "exceeded quota"}};
}
const Case kCases[] = {
    {"Nothing", [](World&) {}, ""},
    {"TheApiServersWordsOnTheCluster",
     [](World& w) { w.failures = {{"cluster", {.error = {.message = "denied by policy"}}}}; },
     "creating the RayCluster: denied by policy"},
    {"TheApiServersWordsOnTheSubmitter",
     [](World& w) { w.failures = {{"submitter", {.error = {.message = "no restartPolicy"}}}}; },
     "creating the submitter Job j: no restartPolicy"},
    {"AFailedWriteOfAnotherLaneIsNone",
     [](World& w) { w.failures = {{"service", {.error = {.message = "x"}}}}; }, ""},
    {"AWorkersWords", [](World& w) { w.workers = {troubled(worker("w-1"), "no GPU")}; },
     "Pod w-1: no GPU"},
    {"TheFirstWorkerByName",
     [](World& w) { w.workers = {troubled(worker("w-2"), "b"), troubled(worker("w-1"), "a")}; },
     "Pod w-1: a"},
    {"TheHeadsBeforeAnyWorkers",
     [](World& w) {
       w.workers = {troubled(worker("a-1"), "no GPU")};
       w.heads = {troubled(head({}, "z-head"), "ErrImagePull")};
     },
     "Pod z-head: ErrImagePull"},
    {"NotOfOneThatGoes", [](World& w) { w.workers = {troubled(worker("w-1", going), "no GPU")}; },
     ""},
    {"AWriteBeforeAnyPod",
     [](World& w) {
       w.failures = {{"submitter", {.error = {.message = "no"}}}};
       w.heads = {troubled(head(), "ErrImagePull")};
     },
     "creating the submitter Job j: no"},
    {"PodsThatTheClusterMayNotMake", [](World& w) { refuse_pods(w, "True"); },
     "RayCluster j-cluster: exceeded quota"},
    {"NotPodsThatItCouldNotMakeOnce", [](World& w) { refuse_pods(w, "False"); }, ""},
};
class RayJobObstacles : public ::testing::TestWithParam<Case> {};
TEST_P(RayJobObstacles, Row) {
  World world;
  world.settle();
  world.cluster->meta.key.name = "j-cluster";
  GetParam().change(world);
  Desk desk(world);
  EXPECT_EQ(find_obstacle(desk.draft), GetParam().says);
}
INSTANTIATE_TEST_SUITE_P(, RayJobObstacles, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(RayJobObstacleOfSubmitter, CountsUntilRayKnowsTheJob) {
  World world;
  world.settle();
  world.submitter_pods = {troubled(worker("j-abcde"), "ImagePullBackOff")};
  for (const std::string known : {"", "PENDING"}) {
    world.job.status.jobStatus = known;
    Desk desk(world);
    note_submitter_trouble(desk.draft);
    EXPECT_EQ(desk.draft.status.conditions.empty(), !known.empty()) << known;
  }
}

TEST(RayJobNameConflict, IsNoOtherRefusal) {
  World world;
  world.settle();
  for (const auto code : {ErrorCode::AlreadyExists, ErrorCode::Forbidden}) {
    world.failures = {{"submitter", {.error = {.code = code, .message = "no"}}}};
    Desk desk(world);
    note_name_conflict(desk.draft);
    EXPECT_EQ(desk.draft.status.conditions.size(), code == ErrorCode::AlreadyExists ? 1u : 0u);
  }
}

}  // namespace
}  // namespace manta::controllers::rayjob
