#include "submitter/job_body.h"

#include <gtest/gtest.h>

namespace manta::submitter {
namespace {

std::string body_of(std::vector<std::string> words) {
  const auto arguments = parse_arguments(words);
  if (!arguments) return arguments.error().message;
  const auto body = job_body(*arguments, "id");
  return body ? dump_json(*body) : body.error().message;
}

struct Case {
  const char* name;
  std::vector<std::string> words;
  const char* want;
};
const Case kCases[] = {
    {"WordsAreJoined", {"python", "a.py"}, R"({"entrypoint":"python a.py","submission_id":"id"})"},
    {"ShellTextArrivesAsItIs",  // RJ-28
     {"--", "echo a && echo \"$HOME\" `date` # \n;"},
     R"({"entrypoint":"echo a && echo \"$HOME\" `date` # \n;","submission_id":"id"})"},
    {"FlagsMayStandBetweenWords",
     {"python", "--entrypoint-num-cpus", "1.5", "a.py", "--entrypoint-num-gpus=0.25"},
     R"({"entrypoint":"python a.py","submission_id":"id","entrypoint_num_cpus":1.5,"entrypoint_num_gpus":0.25})"},
    {"AfterTwoDashesAllAreWords",
     {"--", "python", "--metadata-json", "x"},
     R"({"entrypoint":"python --metadata-json x","submission_id":"id"})"},
    {"Everything",
     {"--runtime-env-json", R"({"pip":["a"]})", R"(--metadata-json={"k":"v"})",
      "--entrypoint-resources", R"({"r":0.1})", "x"},
     R"({"runtime_env":{"pip":["a"]},"metadata":{"k":"v"},"entrypoint_resources":{"r":0.1},"entrypoint":"x","submission_id":"id"})"},
    {"EmptyObjectsAreNotSent",
     {"--runtime-env-json", "{}", "--metadata-json", "{}", "x"},
     R"({"entrypoint":"x","submission_id":"id"})"},
    {"ResourcesAreNumbers",
     {"--entrypoint-resources", R"({"r":"1"})", "x"},
     "--entrypoint-resources must be a JSON object of numbers"},
    {"MetadataAreStrings",
     {"--metadata-json", R"({"k":1})", "x"},
     "--metadata-json must be a JSON object of strings"},
    {"UnknownFlag", {"--no-wait", "x"}, "unknown flag: --no-wait"},
    {"ShortFlag", {"-c", "x"}, "unknown flag: -c"},
    {"FlagWithoutValue", {"x", "--metadata-json"}, "flag needs an argument: --metadata-json"},
    {"NoNumber",
     {"--entrypoint-num-cpus", "many", "x"},
     "--entrypoint-num-cpus: \"many\" is no number"},
};
class SubmitterArguments : public ::testing::TestWithParam<Case> {};
TEST_P(SubmitterArguments, Row) { EXPECT_EQ(body_of(GetParam().words), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, SubmitterArguments, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

std::string target_of(const char* address, const char* id = "id") {
  const auto target = read_target([&](std::string_view name) -> std::optional<std::string> {
    const char* value = name == "RAY_DASHBOARD_ADDRESS"   ? address
                        : name == "RAY_JOB_SUBMISSION_ID" ? id
                                                          : nullptr;
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
  if (!target) return target.error().message;
  return target->host + " " + target->port + " " + target->path;
}

TEST(SubmitterTarget, IsTheDashboardsAddress) {
  EXPECT_EQ(target_of("head.ns.svc:8265"), "head.ns.svc 8265 ");
  EXPECT_EQ(target_of("http://head:8265/base/"), "head 8265 /base");
  EXPECT_EQ(target_of("head"), "head 80 ");
  EXPECT_EQ(target_of("[::1]:8265"), "[::1] 8265 ");
  EXPECT_EQ(target_of(nullptr), "missing RAY_DASHBOARD_ADDRESS in environment variables");
  EXPECT_EQ(target_of("head:1", nullptr), "missing RAY_JOB_SUBMISSION_ID in environment variables");
  EXPECT_EQ(target_of(":8265"), "RAY_DASHBOARD_ADDRESS \":8265\" is no HOST:PORT");
  EXPECT_NE(target_of("https://head:1").find("only http"), std::string::npos);
}

}  // namespace
}  // namespace manta::submitter
