// Suspension, step by step. Source: spec/05 §7.
#include "controllers/rayservice/suspension.h"

#include "controllers/rayservice/conditions.h"
#include "controllers/rayservice/testing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace manta::controllers::rayservice {
namespace {

using ::testing::ElementsAre;
using testing::kNow;

struct SuspensionTable : testing::Table {
  struct Step {
    bool stops = false;  // nothing else is to be planned
    std::vector<std::string> writes = {};
    std::vector<std::string> conditions = {};
  };
  /// One plan; its status is the next one's.
  Step step() {
    auto out = draft();
    Step result{.stops = plan_suspension(out)};
    for (const auto& write : testing::writes(out.plan)) result.writes.push_back(write.key.name);
    for (const auto& c : out.status.conditions)
      result.conditions.push_back(fmt::format("{} {} {}", c.type, c.status, c.reason));
    rs.status = out.status;
    return result;
  }
  void owned(const char* name) {
    kube::ServiceView view;
    view.meta.key = {"ns", name};
    seen.services.push_back(std::make_shared<kube::ServiceView>(view));
  }
};

TEST_F(SuspensionTable, NothingIsDeletedBeforeItIsRemembered) {
  rs.spec.suspend = true;
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  rs.status.serviceStatus = "Running";
  rs.status.numServeEndpoints = 2;
  owned("s-head-svc");
  const auto begun = step();
  EXPECT_TRUE(begun.stops);
  EXPECT_THAT(begun.writes, ElementsAre());
  EXPECT_THAT(begun.conditions,
              ElementsAre("Suspending True SuspendRequested", "Ready False SuspendInProgress",
                          "UpgradeInProgress False SuspendInProgress",
                          "RollbackInProgress False SuspendInProgress"));
  EXPECT_EQ(rs.status.activeServiceStatus.rayClusterName, "");
  EXPECT_EQ(rs.status.serviceStatus, "");
  EXPECT_EQ(rs.status.numServeEndpoints, 0);
  EXPECT_EQ(rs.status.observedGeneration, 1);
}

TEST_F(SuspensionTable, OnceBegunItIsFinishedWhateverTheSpecSays) {
  rs.spec.suspend = true;
  step();
  rs.spec.suspend = false;
  owned("s-head-svc");
  seen.clusters.push_back(cluster("s-a", true));
  auto going = step();
  EXPECT_TRUE(going.stops);
  EXPECT_EQ(going.writes.size(), 2u);
  EXPECT_EQ(going.conditions[0], "Suspending True SuspendInProgress");
  seen.services.clear();
  auto leaving = *seen.clusters[0];
  leaving.meta.deleting = kNow;
  seen.clusters[0] = std::make_shared<ray::RayCluster>(leaving);
  going = step();
  EXPECT_THAT(going.writes, ElementsAre()) << "what is on its way out is waited for";
  EXPECT_EQ(going.conditions[0], "Suspending True SuspendInProgress");
  seen.clusters.clear();
  going = step();
  EXPECT_THAT(
      going.conditions,
      ElementsAre("Suspending False SuspendComplete", "Ready False SuspendComplete",
                  "UpgradeInProgress False SuspendComplete",
                  "RollbackInProgress False SuspendComplete", "Suspended True SuspendComplete"));
}

TEST_F(SuspensionTable, WhileSuspendedNothingMovesAndResumingStartsAnew) {
  rs.spec.suspend = true;
  step();
  step();
  rs.meta.generation = 2;
  const auto before = rs.status;
  EXPECT_TRUE(step().stops);
  EXPECT_EQ(rs.status, before);
  rs.spec.suspend = false;
  const auto resumed = step();
  EXPECT_FALSE(resumed.stops) << "the first cluster is named in the same plan";
  EXPECT_THAT(
      resumed.conditions,
      ElementsAre("Suspending False SuspendComplete", "RollbackInProgress False SuspendComplete",
                  "Suspended False RayServiceResumed", "Ready False Initializing",
                  "UpgradeInProgress False Initializing"));
  EXPECT_EQ(rs.status.observedGeneration, 2);
  EXPECT_FALSE(step().stops);
}

TEST_F(SuspensionTable, AGatewayOfOursGoesAndOneOfSomebodyElseStays) {
  rs.spec.suspend = true;
  step();
  kube::SpecView gateway;
  gateway.meta.key = {"ns", "s-gateway"};
  gateway.meta.owners = {{"ray.io/v1", "RayService", "s", "s-uid", true, true}};
  seen.gateway = std::make_shared<kube::SpecView>(gateway);
  auto theirs = gateway;
  theirs.meta.key.name = "s-httproute";
  theirs.meta.owners[0].uid = "other";
  seen.route = std::make_shared<kube::SpecView>(theirs);
  EXPECT_THAT(step().writes, ElementsAre("s-gateway"));
}

}  // namespace
}  // namespace manta::controllers::rayservice
