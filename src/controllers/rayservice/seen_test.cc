// Which strategy a RayService has. Source: spec/05 §4.5.
#include "controllers/rayservice/seen.h"

#include <gtest/gtest.h>

namespace manta::controllers::rayservice {
namespace {

struct Row {
  const char* name;
  const char* type;  // null: none is given
  bool gate;         // RayServiceIncrementalUpgrade
  bool zero_downtime;
  bool replaces;
  bool in_steps;
};
const Row kRows[] = {
    {"Unset", nullptr, true, true, true, false},
    {"UnsetAndTheEnvironmentForbids", nullptr, true, false, false, false},
    {"NewCluster", "NewCluster", true, true, true, false},
    {"NewClusterWhateverTheEnvironment", "NewCluster", true, false, true, false},
    {"None", "None", true, true, false, false},
    {"InSteps", "NewClusterWithIncrementalUpgrade", true, false, true, true},
    {"InStepsWithTheGateOffIsNone", "NewClusterWithIncrementalUpgrade", false, true, false, false},
};

class Strategy : public ::testing::TestWithParam<Row> {};
TEST_P(Strategy, Row) {
  const auto& row = GetParam();
  ray::RayServiceSpec spec;
  if (row.type) spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{.type = row.type};
  const Settings settings{.incremental_upgrade = row.gate, .zero_downtime = row.zero_downtime};
  EXPECT_EQ(may_replace(spec, settings), row.replaces);
  EXPECT_EQ(is_incremental(spec, settings), row.in_steps);
}
INSTANTIATE_TEST_SUITE_P(, Strategy, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return info.param.name; });

TEST(StrategyWithoutType, IsTheEnvironments) {
  ray::RayServiceSpec spec;
  spec.upgradeStrategy.emplace();
  EXPECT_TRUE(may_replace(spec, {.zero_downtime = true}));
  EXPECT_FALSE(may_replace(spec, {.zero_downtime = false}));
}

TEST(ServeServiceName, IsTheUsersWhereHeGivesOne) {
  ray::RayService service;
  service.meta.key = {"ns", "s"};
  EXPECT_EQ(serve_service_name(service), "s-serve-svc");
  service.spec.serveService = {{"metadata", {{"name", ""}}}};
  EXPECT_EQ(serve_service_name(service), "s-serve-svc");
  service.spec.serveService = {{"metadata", {{"name", "front"}}}};
  EXPECT_EQ(serve_service_name(service), "front");
}

}  // namespace
}  // namespace manta::controllers::rayservice
