#include "controllers/transition.h"

#include <gtest/gtest.h>

namespace manta::controllers {
namespace {

struct Case {
  const char* name;
  const char* before;
  const char* after;
  const char* want;
};
const Case kCases[] = {
    {"NothingChanges", R"({"state":"ready"})", R"({"state":"ready"})", ""},
    {"FirstState", "{}", R"({"state":"ready"})", "state: (none) -> ready"},
    {"CountsAndTimesSayNothing",
     R"({"state":"ready","readyWorkerReplicas":1,"lastUpdateTime":"a"})",
     R"({"state":"ready","readyWorkerReplicas":2,"lastUpdateTime":"b"})", ""},
    {"JobAndItsDeployment", R"({"jobDeploymentStatus":"Running","jobStatus":"RUNNING"})",
     R"({"jobDeploymentStatus":"Complete","jobStatus":"SUCCEEDED"})",
     "jobDeploymentStatus: Running -> Complete; jobStatus: RUNNING -> SUCCEEDED"},
    {"Condition", R"({"conditions":[{"type":"HeadPodReady","status":"False","reason":"x"}]})",
     R"({"conditions":[{"type":"HeadPodReady","status":"True","reason":"Up"}]})",
     "HeadPodReady: False -> True (Up)"},
    {"ReasonAlone", R"({"conditions":[{"type":"HeadPodReady","status":"False","reason":"x"}]})",
     R"({"conditions":[{"type":"HeadPodReady","status":"False","reason":"y"}]})", ""},
    {"ConditionThatGoes", R"({"conditions":[{"type":"QuotaExceeded","status":"True"}]})", "{}",
     "QuotaExceeded: True -> (none)"},
    {"ClusterOfAService", R"({"activeServiceStatus":{"rayClusterName":"a"}})",
     R"({"activeServiceStatus":{"rayClusterName":"b"}})", "activeServiceStatus: a -> b"},
};
class Transition : public testing::TestWithParam<Case> {};
TEST_P(Transition, Row) {
  EXPECT_EQ(transition(*parse_json(GetParam().before), *parse_json(GetParam().after)),
            GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, Transition, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::controllers
