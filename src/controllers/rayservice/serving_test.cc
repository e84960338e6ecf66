// In mid-upgrade in steps: whose shares count, and what is told when nothing moves.
#include "controllers/rayservice/testing.h"

#include <gmock/gmock.h>

#include <optional>

namespace manta::controllers::rayservice {
namespace {

using ::testing::HasSubstr;
using testing::kNow;
using testing::kRunning;
using ::testing::Not;

struct MidUpgrade : testing::StepsTable {
  MidUpgrade() {
    in_steps();
    rs.status.pendingServiceStatus.rayClusterName = "s-next";
    seen.pending = with_head(cluster("s-next", true));
    answer("s-next", kRunning);
  }
  std::string upgrade() {
    const auto plan = make();
    for (const auto& condition : array_at(plan.status->body, {"status", "conditions"}))
      if (string_at(condition, {"type"}) == "UpgradeInProgress")
        return std::string(string_at(condition, {"message"}));
    return {};
  }
  void shares_are(std::optional<int> active, std::optional<int> pending) {
    rs.status.activeServiceStatus.trafficRoutedPercent = active;
    rs.status.pendingServiceStatus.trafficRoutedPercent = pending;
  }
  /// "70/30": what the status says of the traffic of both clusters once this plan is carried out.
  std::string shares() {
    const auto plan = make();
    const auto of = [&](const char* side) -> std::string {
      const auto* share = find(plan.status->body, {"status", side, "trafficRoutedPercent"});
      return share ? dump_json(*share) : "-";
    };
    return of("activeServiceStatus") + "/" + of("pendingServiceStatus");
  }
};

TEST_F(MidUpgrade, WhatTheRouteSaysCountsThoughNobodyServes) {
  route_to({{"s-new-serve-svc", 70}, {"s-next-serve-svc", 30}});
  shares_are(40, 60);
  facts.clear();
  EXPECT_EQ(shares(), "70/30");
}

TEST_F(MidUpgrade, AShareIsToldFirstWhenSomebodyServes) {
  route_to({{"s-new-serve-svc", 70}, {"s-next-serve-svc", 30}});
  EXPECT_EQ(shares(), "70/30");
  facts.clear();
  EXPECT_EQ(shares(), "-/-");
}

// In a rollback both the config and the spec are edited: the old cluster deploys anew, and the new
// one, which is wanted now, still runs the config before. Its requests are answered. (Seed 35068)
TEST_F(MidUpgrade, WhatAnswersByAnOlderConfigKeepsItsRequests) {
  rs.status.conditions.push_back({.type = "RollbackInProgress", .status = "True"});
  rs.spec.rayClusterConfig.rayVersion = "2.99.0";
  seen.pending = with_head(cluster("s-next", true));
  seen.pending.serve_service = service_of("s-next-serve-svc", "s-next");
  rs.spec.serveConfigV2 = "applications: [{name: a, import_path: 'm:new'}]";
  answer("s-new", R"({"applications":{"a":{"status":"DEPLOYING"}},"submitted":{"config":
      {"applications":[{"name":"a","import_path":"m:new"}]},"head":"head-uid/0","listed":true}})");
  rs.status.activeServiceStatus.targetCapacity = rs.status.pendingServiceStatus.targetCapacity =
      100;
  shares_are(80, 20);
  route_to({{"s-new-serve-svc", 80}, {"s-next-serve-svc", 20}});
  std::vector<std::int64_t> weights;
  for (const auto& write : testing::writes(make()))
    if (write.resource.kind == "HTTPRoute")
      for (const auto& backend :
           array_at(array_at(write.body, {"spec", "rules"})[0], {"backendRefs"}))
        weights.push_back(int_at(backend, {"weight"}));
  EXPECT_THAT(weights, ::testing::AnyOf(::testing::IsEmpty(), ::testing::ElementsAre(80, 20)));
}

TEST_F(MidUpgrade, AHeadThatIsDownIsNamed) {
  EXPECT_THAT(upgrade(), Not(HasSubstr("head")));
  for (auto* side : {&seen.active, &seen.pending}) {
    const auto before = *side;
    side->cluster = cluster(before.cluster->meta.key.name, false);
    EXPECT_THAT(upgrade(),
                HasSubstr("the head of " + before.cluster->meta.key.name + " is not ready"));
    *side = before;
  }
}

TEST_F(MidUpgrade, ADashboardThatDoesNotAnswerIsNamed) {
  for (const auto* name : {"s-new", "s-next"}) {
    facts[std::string("serve:") + name] = {.answer = failed(ErrorCode::Unavailable, "HTTP 503"),
                                           .at = kNow};
    EXPECT_THAT(upgrade(),
                HasSubstr(std::string("the dashboard of ") + name + " does not answer: HTTP 503"));
    answer(name, kRunning);
  }
  EXPECT_THAT(upgrade(), Not(HasSubstr("does not answer")));
}

TEST_F(MidUpgrade, ZeroPercentIsNamed) {
  auto& options = *rs.spec.upgradeStrategy->clusterUpgradeOptions;
  options.stepSizePercent = 0;
  EXPECT_THAT(upgrade(), HasSubstr("stepSizePercent is 0: no traffic moves"));
  EXPECT_THAT(upgrade(), Not(HasSubstr("maxSurgePercent")));
  options.stepSizePercent = options.maxSurgePercent = 0;
  EXPECT_THAT(upgrade(), HasSubstr("maxSurgePercent is 0: no capacity moves"));
}

}  // namespace
}  // namespace manta::controllers::rayservice
