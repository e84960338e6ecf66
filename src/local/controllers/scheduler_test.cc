#include "local/controllers/scheduler.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

constexpr SchedulerOptions kStrict{.cpu_factor = 1, .memory_factor = 1};

std::shared_ptr<const NodeView> node(std::string_view json) {
  auto object = parse_json(json);
  auto& fields = object->as_object();
  fields["metadata"] = JsonObject{{"name", "laptop"}, {"labels", JsonObject{{"zone", "a"}}}};
  return std::make_shared<NodeView>(*project_node(*object));
}

const char* const kReady =
    R"({"status":{"allocatable":{"cpu":"2","memory":"4Gi","pods":"3"},
        "conditions":[{"type":"Ready","status":"True"}]}})";

std::shared_ptr<const PodView> pod(std::string_view spec, std::string name = "p") {
  JsonObject object{{"metadata", JsonObject{{"name", name}, {"namespace", "ns"}}},
                    {"spec", *parse_json(spec)}};
  return std::make_shared<PodView>(*project_pod(object));
}

std::string asks(std::string_view resources, std::string_view rest = "") {
  return R"({"containers":[{"resources":{"requests":)" + std::string(resources) + "}}]" +
         std::string(rest) + "}";
}

struct Case {
  const char* name;
  std::string pod;
  const char* node = kReady;
  const char* want = "";  // in the message; empty: it is placed
};

const Case kCases[] = {
    {"Fits", asks(R"({"cpu":"2","memory":"4Gi"})")},
    {"TooMuchCpu", asks(R"({"cpu":"2001m"})"), kReady,
     "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No "
     "preemption victims found for incoming pod."},
    {"TooMuchOfTwo", asks(R"({"cpu":"3","memory":"5Gi"})"), kReady,
     "1 Insufficient cpu, 1 Insufficient memory"},
    {"UnknownResource", asks(R"({"nvidia.com/gpu":"1"})"), kReady, "1 Insufficient nvidia.com/gpu"},
    {"LimitsCountAsRequests", R"({"containers":[{"resources":{"limits":{"cpu":"3"}}}]})", kReady,
     "Insufficient cpu"},
    {"SelectorMatches", asks("{}", R"(,"nodeSelector":{"zone":"a"})")},
    {"SelectorDiffers", asks("{}", R"(,"nodeSelector":{"zone":"b"})"), kReady,
     "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: "
     "0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
    {"AffinityNotIn",
     asks("{}", R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
       {"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["a"]}]}]}}})"),
     kReady, "node affinity/selector"},
    {"Tainted", asks("{}"),
     R"({"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},
         "status":{"conditions":[{"type":"Ready","status":"True"}]}})",
     "1 node(s) had untolerated taint {k: v}"},
    {"Tolerated", asks("{}", R"(,"tolerations":[{"key":"k","operator":"Exists"}])"),
     R"({"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},
         "status":{"conditions":[{"type":"Ready","status":"True"}]}})"},
    {"Cordoned", asks("{}"), R"({"spec":{"unschedulable":true}})", "1 node(s) were unschedulable"},
    {"Gated", asks("{}", R"(,"schedulingGates":[{"name":"g"}])"), kReady,
     "Scheduling is blocked due to non-empty scheduling gates"},
};

class DecidePlacement : public testing::TestWithParam<Case> {};
TEST_P(DecidePlacement, Row) {
  const auto& row = GetParam();
  const auto answers = decide_placements({{pod(row.pod)}, {node(row.node)}}, kStrict);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].node, *row.want == '\0' ? "laptop" : "");
  EXPECT_NE(answers[0].message.find(row.want), std::string::npos) << answers[0].message;
}
INSTANTIATE_TEST_SUITE_P(, DecidePlacement, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(DecidePlacements, EarlierAnswersCountForLaterOnes) {
  const auto answers = decide_placements(
      {{pod(asks(R"({"cpu":"1500m"})"), "a"), pod(asks(R"({"cpu":"1500m"})"), "b")},
       {node(kReady)}},
      kStrict);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].node, "laptop");
  EXPECT_EQ(answers[1].reason, "Unschedulable");
}

TEST(DecidePlacements, RunningPodsHoldTheirShareAndFinishedOnesDoNot) {
  auto held = *pod(asks(R"({"cpu":"2"})"), "held");
  held.node_name = "laptop";
  const auto waiting = pod(asks(R"({"cpu":"1"})"), "waiting");
  auto decide = [&] {
    return decide_placements({{std::make_shared<PodView>(held), waiting}, {node(kReady)}}, kStrict);
  };
  EXPECT_EQ(decide()[0].node, "");
  held.phase = "Succeeded";
  EXPECT_EQ(decide()[0].node, "laptop");
}

// LM-01: a sample that asks for more CPUs than the laptop has must run all the same.
TEST(DecidePlacements, LM_01_SmallMachineTakesMoreThanItHasAndSaysSo) {
  const auto answers = decide_placements({{pod(asks(R"({"cpu":"3"})"))}, {node(kReady)}}, {});
  EXPECT_EQ(answers[0].node, "laptop");
  EXPECT_EQ(answers[0].warning,
            "node laptop now has more promised than it has: 3 of cpu (it has 2); Pods share it");
}

TEST(DecidePlacements, NoNodeAtAll) {
  EXPECT_EQ(decide_placements({{pod("{}")}, {}}, {})[0].message,
            "no nodes available to schedule pods");
}

TEST(DecidePlacements, LeavesOtherSchedulersPodsAlone) {
  EXPECT_TRUE(
      decide_placements({{pod(R"({"schedulerName":"volcano"})")}, {node(kReady)}}, {}).empty());
}

TEST(PodRequests, LargestInitStepAndSidecars) {
  const auto requests = pod_requests(*parse_json(
      R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
          "initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}},
                            {"resources":{"requests":{"cpu":"2"}}}],
          "overhead":{"cpu":"100m"}})"));
  EXPECT_EQ(requests.at("cpu").to_string(), "2600m");
}

}  // namespace
}  // namespace manta::local
