// Conditions as names and endpoints make them, a row each. Source: spec/05 §9.3, §9.4.
#include "controllers/rayservice/conditions.h"

#include "controllers/rayservice/testing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace manta::controllers::rayservice {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kNow;
using ::testing::StartsWith;

struct ConditionsTable : testing::Table {
  void had(std::string type, std::string status, std::string reason, seconds ago = {}) {
    rs.status.conditions.push_back({.type = std::move(type),
                                    .status = std::move(status),
                                    .lastTransitionTime = kNow - ago,
                                    .reason = std::move(reason)});
  }
  void initializing(seconds ago = {}) {
    had("Ready", "False", "Initializing", ago);
    had("UpgradeInProgress", "False", "Initializing", ago);
  }
  void serving() {
    rs.status.activeServiceStatus.rayClusterName = "s-a";
    had("Ready", "True", "NonZeroServeEndpoints");
    had("UpgradeInProgress", "False", "NoPendingCluster");
  }
  Draft updated(int endpoints) {
    auto out = draft();
    update_conditions(out, endpoints);
    return out;
  }
  static std::string says(const Draft& draft, std::string_view type) {
    const auto* found = ray::find_condition(draft.status.conditions, type);
    return found ? found->status + " " + found->reason : "";
  }
};

TEST_F(ConditionsTable, ANewOneInitializes) {
  const auto out = updated(0);
  EXPECT_EQ(says(out, kReady), "False Initializing");
  EXPECT_EQ(says(out, kUpgradeInProgress), "False Initializing");
}

TEST_F(ConditionsTable, EndpointsMakeItReadyAndNothingElseDoes) {
  serving();
  EXPECT_EQ(says(updated(1), kReady), "True NonZeroServeEndpoints");
  EXPECT_EQ(says(updated(0), kReady), "False ZeroServeEndpoints");
  rs.status.conditions.clear();
  initializing();
  EXPECT_EQ(says(updated(0), kReady), "False Initializing") << "promoted, but not reachable yet";
}

TEST_F(ConditionsTable, UpgradeInProgressFollowsTheNames) {
  serving();
  rs.status.pendingServiceStatus.rayClusterName = "s-b";
  EXPECT_EQ(says(updated(1), kUpgradeInProgress), "True BothActivePendingClustersExist");
  rs.status.pendingServiceStatus.rayClusterName.clear();
  EXPECT_EQ(says(updated(1), kUpgradeInProgress), "False NoPendingCluster");
  rs.status.activeServiceStatus.rayClusterName.clear();
  rs.status.pendingServiceStatus.rayClusterName = "s-b";
  EXPECT_EQ(says(updated(1), kUpgradeInProgress), "Unknown NoActiveCluster");
  rs.status.conditions.clear();
  initializing();
  EXPECT_EQ(says(updated(0), kUpgradeInProgress), "False Initializing");
}

TEST_F(ConditionsTable, SEEN_29_OfAMendedFirstSpecNothingHasHappenedYet) {
  had("Ready", "False", "ValidationFailed");
  const auto out = updated(0);
  EXPECT_EQ(says(out, kReady), "False Initializing");
  EXPECT_EQ(says(out, kUpgradeInProgress), "False Initializing");
}

TEST_F(ConditionsTable, AMendedSpecIsNoLongerCalledInvalidThoughNobodyIsReached) {
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  had("Ready", "False", "ValidationFailed");
  had("UpgradeInProgress", "False", "NoPendingCluster");
  EXPECT_EQ(says(updated(0), kReady), "False ZeroServeEndpoints");
}

TEST_F(ConditionsTable, HoweverMuchIsWaitedForTheMessageFits) {
  serving();
  auto out = draft();
  out.waits = {std::string(40'000, 'x'), "the moon is not full"};
  update_conditions(out, 1);
  const auto& message = ray::find_condition(out.status.conditions, kReady)->message;
  EXPECT_LE(message.size(), 32'768u) << "the CRD refuses more";
  EXPECT_THAT(message, ::testing::EndsWith("the moon is not full"));
}

TEST_F(ConditionsTable, WhatIsWaitedForIsInTheMessageAndGoesWithIt) {
  serving();
  auto out = draft();
  out.waits = {"the head is not there", "the moon is not full"};
  update_conditions(out, 1);
  EXPECT_EQ(ray::find_condition(out.status.conditions, kReady)->message,
            "Number of serve endpoints is greater than 0. Waiting: the head is not there; the moon "
            "is not full");
  rs.status = out.status;
  EXPECT_EQ(ray::find_condition(updated(1).status.conditions, kReady)->message,
            "Number of serve endpoints is greater than 0");
}

// ---- the initializing timeout

struct TimeoutTable : ConditionsTable {
  TimeoutTable() {
    rs.meta.annotations["ray.io/initializing-timeout"] = "60s";
    rs.status.pendingServiceStatus.rayClusterName = "s-b";
    rs.status.pendingServiceStatus.applicationStatuses["a"].status = "DEPLOYING";
  }
};

TEST_F(TimeoutTable, ItIsLookedAtAgainWhenItIsDue) {
  initializing(seconds{59});
  const auto out = updated(0);
  EXPECT_EQ(says(out, kReady), "False Initializing");
  EXPECT_EQ(out.plan.look_again, Duration{seconds{1}});
}

TEST_F(TimeoutTable, OnceDueNoClusterIsNamedAndTheRestStays) {
  initializing(seconds{60});
  const auto out = updated(0);
  EXPECT_EQ(says(out, kReady), "False InitializingTimeout");
  EXPECT_EQ(says(out, kUpgradeInProgress), "False Initializing");
  EXPECT_EQ(out.pending_name(), "");
  EXPECT_EQ(out.status.pendingServiceStatus.applicationStatuses.size(), 1u);
  ASSERT_EQ(out.plan.events.size(), 1u);
  EXPECT_EQ(out.plan.events[0].note,
            "RayService initializing timeout exceeded after 1m0s (configured timeout: 1m0s)");
}

struct NoTimeout {
  const char* name;
  const char* ready;
  const char* reason;
  int endpoints;
  const char* limit;
};
class NeverTimesOut : public TimeoutTable, public ::testing::WithParamInterface<NoTimeout> {};
TEST_P(NeverTimesOut, Row) {
  rs.meta.annotations["ray.io/initializing-timeout"] = GetParam().limit;
  had("Ready", GetParam().ready, GetParam().reason, seconds{3600});
  had("UpgradeInProgress", "False", "Initializing", seconds{3600});
  const auto out = updated(GetParam().endpoints);
  EXPECT_EQ(out.pending_name(), "s-b");
  EXPECT_THAT(out.plan.events, ElementsAre());
}
INSTANTIATE_TEST_SUITE_P(
    , NeverTimesOut,
    ::testing::Values(NoTimeout{"SomebodyIsReached", "False", "Initializing", 1, "60s"},
                      NoTimeout{"ItWasReadyBefore", "True", "NonZeroServeEndpoints", 0, "60s"},
                      NoTimeout{"ItWasInvalid", "False", "ValidationFailed", 0, "60s"},
                      NoTimeout{"NoneIsAsked", "False", "Initializing", 0, ""},
                      NoTimeout{"Longer", "False", "Initializing", 0, "3601"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace manta::controllers::rayservice
