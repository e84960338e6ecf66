#include "controllers/raycluster/head_pod.h"

#include "controllers/raycluster/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers::raycluster {
namespace {

using namespace testing;
using enum HeadStep;
using kube::PodPhase;
using kube::RestartPolicy;

HeadSeen one(PodSays says) { return {.heads = {head(says)}}; }

struct Case {
  const char* name;
  HeadSeen seen;
  HeadStep want;
};
const Case kCases[] = {
    {"NoHeadYet", {}, Create},
    {"LostHeadIsReplaced", {.provisioned = true}, Create},
    {"LostHeadOfSidecarJobIsNot", {.provisioned = true, .restart_disabled = true}, Hold},
    {"FirstHeadOfSidecarJobIs", {.restart_disabled = true}, Create},
    {"Healthy", one({}), Keep},
    {"Pending", one({.phase = PodPhase::Pending, .ready = false}), Keep},
    {"LeftCleanly", one({.phase = PodPhase::Succeeded}), Delete},
    {"EvictedThoughAlways", one({.phase = PodPhase::Failed, .restart = RestartPolicy::Always}),
     Delete},
    {"EndedForGood", one({.restart = RestartPolicy::Never, .ray_ended = true}), Delete},
    {"Restarting", one({.restart = RestartPolicy::OnFailure, .ray_ended = true}), Keep},
    {"FailedAndGoing", one({.phase = PodPhase::Failed, .deleting = true}), Keep},
    {"TwoHeads", {.heads = {head({}, "a"), head({}, "b")}}, Hold},
};
class DecideHead : public ::testing::TestWithParam<Case> {};
TEST_P(DecideHead, Row) { EXPECT_EQ(decide_head(GetParam().seen).step, GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, DecideHead, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(DecideHeadLaw, LeavesWhatIsGoingOrMayStillReport) {
  for (auto policy : {RestartPolicy::Always, RestartPolicy::OnFailure, RestartPolicy::Never}) {
    for (auto phase : {PodPhase::None, PodPhase::Pending, PodPhase::Running, PodPhase::Succeeded,
                       PodPhase::Failed, PodPhase::Unknown})
      EXPECT_EQ(decide_head(one({phase, policy, false, true, true})).step, Keep);
    for (auto phase : {PodPhase::None, PodPhase::Pending, PodPhase::Unknown})
      EXPECT_EQ(decide_head(one({phase, policy, false, true, false})).step, Keep);
  }
}

}  // namespace
}  // namespace manta::controllers::raycluster
