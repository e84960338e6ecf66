// What a RayService is refused for, and in which words. The rules of a RayCluster's spec are in
// src/ray. Source: spec/05 §3.1.
#include "controllers/rayservice/validation.h"

#include "controllers/rayservice/testing.h"

#include <gmock/gmock.h>

namespace manta::controllers::rayservice {
namespace {

using Change = void (*)(ray::RayService&);

ray::RayService in_steps() {
  auto rs = testing::service();
  rs.spec.rayClusterConfig.enableInTreeAutoscaling = true;
  rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{
      .type = std::string(kIncremental),
      .clusterUpgradeOptions = ray::ClusterUpgradeOptions{.maxSurgePercent = 50,
                                                          .stepSizePercent = 10,
                                                          .intervalSeconds = 1,
                                                          .gatewayClassName = "edge"}};
  return rs;
}
ray::ClusterUpgradeOptions& options(ray::RayService& rs) {
  return *rs.spec.upgradeStrategy->clusterUpgradeOptions;
}

struct Row {
  const char* name;
  Change change;
  const char* says;  // empty: it is taken
};
#define META "The RayService metadata is invalid: "
#define TIMEOUT META "RayService annotations is invalid: annotation ray.io/initializing-timeout "
#define SPEC "The RayService spec is invalid: "

const Row kRows[] = {
    {"Plain", [](auto&) {}, ""},
    {"Name47", [](auto& rs) { rs.meta.key.name = std::string(47, 'a'); }, ""},
    {"Name48", [](auto& rs) { rs.meta.key.name = std::string(48, 'a'); },
     META "RayService name should be no more than 47 characters"},
    {"NameStartsWithADigit", [](auto& rs) { rs.meta.key.name = "1a"; },
     META "RayService name should be a valid DNS1035 label: "},
    {"TimeoutGo", [](auto& rs) { rs.meta.annotations["ray.io/initializing-timeout"] = "1h30m"; },
     ""},
    {"TimeoutSeconds", [](auto& rs) { rs.meta.annotations["ray.io/initializing-timeout"] = "300"; },
     ""},
    {"TimeoutEmpty", [](auto& rs) { rs.meta.annotations["ray.io/initializing-timeout"] = ""; }, ""},
    {"TimeoutNothing", [](auto& rs) { rs.meta.annotations["ray.io/initializing-timeout"] = "0"; },
     TIMEOUT "must be a positive duration, got: 0"},
    {"TimeoutNegative",
     [](auto& rs) { rs.meta.annotations["ray.io/initializing-timeout"] = "-5m"; },
     TIMEOUT "must be a positive duration, got: -5m"},
    {"TimeoutNegativeSeconds",
     [](auto& rs) { rs.meta.annotations["ray.io/initializing-timeout"] = "-5"; },
     TIMEOUT "must be a positive integer (seconds), got: -5"},
    {"TimeoutWords", [](auto& rs) { rs.meta.annotations["ray.io/initializing-timeout"] = "soon"; },
     TIMEOUT
     "has invalid format: soon. Expected Go duration format (e.g., '5m', '1h') or positive integer "
     "seconds"},
    {"KubernetesTokens",
     [](auto& rs) {
       rs.spec.rayClusterConfig.authOptions =
           ray::AuthOptions{.enableK8sTokenAuth = true, .mode = "token"};
     },
     SPEC "K8s token auth mode is currently not supported for RayService"},
    {"HeadServiceName",
     [](auto& rs) {
       rs.spec.rayClusterConfig.headGroupSpec.headService = {{"metadata", {{"name", "x"}}}};
     },
     SPEC "spec.rayClusterConfig.headGroupSpec.headService.metadata.name should not be set"},
    {"UnknownStrategy",
     [](auto& rs) { rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{.type = "Blue"}; },
     SPEC "Spec.UpgradeStrategy.Type value Blue is invalid, valid options are "
          "NewClusterWithIncrementalUpgrade, NewCluster, or None"},
    {"NegativeDelay", [](auto& rs) { rs.spec.rayClusterDeletionDelaySeconds = -1; },
     SPEC "Spec.RayClusterDeletionDelaySeconds should be a non-negative integer, got -1"},
    {"InSteps", [](auto& rs) { rs = in_steps(); }, ""},
    {"InStepsWithoutAutoscaler",
     [](auto& rs) {
       rs = in_steps();
       rs.spec.rayClusterConfig.enableInTreeAutoscaling.reset();
     },
     SPEC "Ray Autoscaler is required for NewClusterWithIncrementalUpgrade"},
    {"InStepsWithoutOptions",
     [](auto& rs) {
       rs = in_steps();
       rs.spec.upgradeStrategy->clusterUpgradeOptions.reset();
     },
     SPEC "ClusterUpgradeOptions are required for NewClusterWithIncrementalUpgrade"},
    {"Surge101",
     [](auto& rs) {
       rs = in_steps();
       options(rs).maxSurgePercent = 101;
     },
     SPEC "maxSurgePercent must be between 0 and 100"},
    {"SurgeAbsentIsAll",
     [](auto& rs) {
       rs = in_steps();
       options(rs).maxSurgePercent.reset();
     },
     ""},
    {"NoStep",
     [](auto& rs) {
       rs = in_steps();
       options(rs).stepSizePercent.reset();
     },
     SPEC "stepSizePercent must be between 0 and 100"},
    {"StepAboveSurge",
     [](auto& rs) {
       rs = in_steps();
       options(rs).stepSizePercent = 51;
     },
     SPEC "stepSizePercent must be less than or equal to maxSurgePercent"},
    {"NoInterval",
     [](auto& rs) {
       rs = in_steps();
       options(rs).intervalSeconds = 0;
     },
     SPEC "intervalSeconds must be greater than 0"},
    {"NoClass",
     [](auto& rs) {
       rs = in_steps();
       options(rs).gatewayClassName.clear();
     },
     SPEC "gatewayClassName is required for NewClusterWithIncrementalUpgrade"},
    {"SEEN_28_TwoGroupsOfOneName",
     [](auto& rs) {
       ray::WorkerGroupSpec group{.groupName = "g", .minReplicas = 0, .maxReplicas = 1};
       group.template_ = rs.spec.rayClusterConfig.headGroupSpec.template_;
       rs.spec.rayClusterConfig.workerGroupSpecs = {group, group};
     },
     SPEC "spec.rayClusterConfig.workerGroupSpecs[1].groupName g is used by an earlier group"},
    {"SEEN_30_TheChildsStrategy",
     [](auto& rs) {
       rs.spec.rayClusterConfig.upgradeStrategy = ray::RayClusterUpgradeStrategy{.type = "None"};
     },
     SPEC "spec.rayClusterConfig.upgradeStrategy.type None must not be set"},
    {"SEEN_30_TheChildSuspended", [](auto& rs) { rs.spec.rayClusterConfig.suspend = true; },
     SPEC "spec.rayClusterConfig.suspend must not be true"},
    {"OneThatAQueueHolds",
     [](auto& rs) {
       rs.spec.rayClusterConfig.suspend = true;
       rs.meta.labels["kueue.x-k8s.io/queue-name"] = "q";
     },
     ""},
};

class Validate : public ::testing::TestWithParam<Row> {};
TEST_P(Validate, Row) {
  auto rs = testing::service();
  GetParam().change(rs);
  const auto problem = validate(rs, Settings{});
  if (!*GetParam().says) {
    EXPECT_FALSE(problem) << problem->message;
    return;
  }
  ASSERT_TRUE(problem);
  EXPECT_THAT(problem->message, ::testing::StartsWith(GetParam().says));
  const bool metadata = std::string_view(GetParam().says).starts_with(META);
  EXPECT_EQ(problem->reason, metadata ? "InvalidRayServiceMetadata" : "InvalidRayServiceSpec");
}
INSTANTIATE_TEST_SUITE_P(, Validate, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return info.param.name; });

TEST(ValidateOrder, TheFirstFailureWinsAndMetadataIsFirst) {
  auto rs = testing::service();
  rs.meta.key.name = std::string(48, 'a');
  rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{.type = "Blue"};
  EXPECT_EQ(validate(rs, Settings{})->reason, "InvalidRayServiceMetadata");
}

TEST(ValidateOrder, WithTheGateOffOptionsOfStepsAreNotLookedAt) {
  auto rs = in_steps();
  rs.spec.upgradeStrategy->clusterUpgradeOptions.reset();
  EXPECT_FALSE(validate(rs, Settings{.incremental_upgrade = false}));
}

}  // namespace
}  // namespace manta::controllers::rayservice
