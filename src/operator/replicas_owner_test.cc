#include "operator/replicas_owner.h"

#include "base/yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

std::string told(std::string_view metadata, std::string_view status = "{}") {
  const auto object = parse_yaml_one(fmt::format("metadata: {}\nstatus: {}\n", metadata, status));
  return object ? who_applies_replicas(*object) : object.error().message;
}

std::string applied(std::string_view manager, std::string_view fields,
                    std::string_view operation = "Apply") {
  return fmt::format(
      "{{managedFields: [{{manager: {}, operation: {}, time: '2026-01-02T03:04:05Z', "
      "fieldsV1: {}}}]}}",
      manager, operation, fields);
}

constexpr const char* kWhole = "{'f:spec': {'f:workerGroupSpecs': {}}}";
constexpr const char* kReplicas =
    R"({'f:spec': {'f:workerGroupSpecs': {'k:{"groupName":"g"}': {'f:replicas': {}, 'f:groupName': {}}}}})";
constexpr const char* kNoReplicas =
    R"({'f:spec': {'f:workerGroupSpecs': {'k:{"groupName":"g"}': {'f:groupName': {}, 'f:maxReplicas': {}}}}})";
constexpr const char* kHeadOnly = "{'f:spec': {'f:headGroupSpec': {}}}";

std::string last_applied(std::string_view group) {
  return fmt::format(
      R"({{annotations: {{kubectl.kubernetes.io/last-applied-configuration: '{{"spec":{{"workerGroupSpecs":[{}]}}}}'}}}})",
      group);
}

struct Case {
  const char* name;
  std::string metadata;
  const char* want;  // how it begins
};
const Case kCases[] = {
    {"Nobody", "{}", ""},
    {"WholeList", applied("argocd", kWhole), "argocd applied workerGroupSpecs as a whole"},
    {"ReplicasOfAKeyedList", applied("flux", kReplicas), "flux applied replicas of a worker group"},
    {"KeyedListWithoutReplicas", applied("flux", kNoReplicas), ""},
    {"OnlyTheHead", applied("flux", kHeadOnly), ""},
    // The autoscaler itself, and whoever edits once.
    {"AnUpdateIsNoApply", applied("kuberay-autoscaler", kReplicas, "Update"), ""},
    {"KubectlApply", last_applied(R"({"groupName":"g","replicas":3})"),
     "kubectl apply applied replicas"},
    {"KubectlApplyWithoutReplicas", last_applied(R"({"groupName":"g"})"), ""},
    {"UnreadableAnnotation",
     "{annotations: {kubectl.kubernetes.io/last-applied-configuration: '{'}}", ""},
};
class ReplicasOwner : public testing::TestWithParam<Case> {};
TEST_P(ReplicasOwner, Row) {
  const auto text = told(GetParam().metadata);
  const std::string_view want = GetParam().want;
  EXPECT_EQ(want.empty() ? text : text.substr(0, want.size()), want);
}
INSTANTIATE_TEST_SUITE_P(, ReplicasOwner, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

// The autoscaler's next write takes the field; the apply that will take it back has not changed.
TEST(ReplicasOwnerStory, StaysToldUntilSomebodyAppliesAnew) {
  const auto before = told(applied("flux", kReplicas));
  ASSERT_NE(before.find("(at 2026-01-02T03:04:05Z)"), std::string::npos) << before;
  const auto status =
      fmt::format("{{conditions: [{{type: ReplicasContested, message: '{}'}}]}}", before);
  EXPECT_EQ(told(applied("flux", kNoReplicas), status), before);
  auto later = applied("flux", kNoReplicas);
  later.replace(later.find("2026-01-02"), 10, "2026-01-03");
  EXPECT_EQ(told(later, status), "") << "an apply that leaves replicas out";
}

}  // namespace
}  // namespace manta::operator_
