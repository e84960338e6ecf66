#include "cli/job_words.h"

#include <gtest/gtest.h>

namespace manta::cli {
namespace {

struct Case {
  const char* name;
  const char* status;
  const char* how;  // null: nothing is said
};
const Case kCases[] = {
    {"NoMessage", R"({"jobDeploymentStatus":"Initializing"})", nullptr},
    {"ClusterComes", R"({"jobDeploymentStatus":"Initializing","message":"m"})", "waits"},
    {"APodSaysItself", R"({"jobDeploymentStatus":"Initializing","message":"Pod a: m"})", nullptr},
    {"Pending", R"({"jobDeploymentStatus":"Running","jobStatus":"PENDING","message":"m"})",
     "waits"},
    {"Runs", R"({"jobDeploymentStatus":"Running","jobStatus":"RUNNING","message":"m"})", nullptr},
    {"HasFailed", R"({"jobDeploymentStatus":"Running","jobStatus":"FAILED","message":"m"})",
     nullptr},
    {"HasSucceeded", R"({"jobDeploymentStatus":"Running","jobStatus":"SUCCEEDED","message":"m"})",
     nullptr},
    {"AgainAfterAFailure",
     R"({"jobDeploymentStatus":"Retrying","jobStatus":"FAILED","message":"m"})", "is tried again"},
};
class JobWaitOf : public testing::TestWithParam<Case> {};
TEST_P(JobWaitOf, Row) {
  const auto wait = job_wait(JsonObject{{"status", *parse_json(GetParam().status)}});
  ASSERT_EQ(wait.has_value(), GetParam().how != nullptr);
  if (!wait) return;
  EXPECT_EQ(wait->how, GetParam().how);
  EXPECT_EQ(wait->message, "m");
}
INSTANTIATE_TEST_SUITE_P(, JobWaitOf, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace manta::cli
