#include "cli/job_check.h"

#include <gtest/gtest.h>

namespace manta::cli {
namespace {

struct Case {
  const char* name;
  const char* spec;
  bool fine;
};
const Case kCases[] = {
    {"Given", R"({"entrypoint":"python x.py"})", true},
    {"Missing", R"({})", false},
    {"Empty", R"({"entrypoint":"","submissionMode":"K8sJobMode"})", false},
    {"Blank", R"({"entrypoint":" \n"})", false},
    {"OverHttp", R"({"submissionMode":"HTTPMode"})", false},
    {"Interactive", R"({"submissionMode":"InteractiveMode"})", true},
    {"OwnCommand",
     R"({"submitterPodTemplate":{"spec":{"containers":[{"name":"s","command":["./submit"]}]}}})",
     true},
    {"OwnImageOnly", R"({"submitterPodTemplate":{"spec":{"containers":[{"name":"s"}]}}})", false},
    {"TemplateThatHttpModeIgnores",
     R"({"submissionMode":"HTTPMode",
         "submitterPodTemplate":{"spec":{"containers":[{"name":"s","command":["./submit"]}]}}})",
     false},
};
class CheckEntrypoint : public testing::TestWithParam<Case> {};
TEST_P(CheckEntrypoint, Row) {
  const auto checked = check_entrypoint(JsonObject{{"spec", *parse_json(GetParam().spec)}});
  ASSERT_EQ(checked.has_value(), GetParam().fine);
  if (!checked) {
    ASSERT_EQ(checked.error().causes.size(), 1u);
    EXPECT_EQ(checked.error().causes[0].field, "spec.entrypoint");
  }
}
INSTANTIATE_TEST_SUITE_P(, CheckEntrypoint, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace manta::cli
