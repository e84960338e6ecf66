#include "ray/validation_params.h"

#include "ray/testing.h"
#include "ray/validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace manta::ray {
namespace {

struct Case {
  const char* name;
  const char* text;
  const char* fault;  // "" when it is one word
};
const Case kCases[] = {
    {"Plain", "0.0.0.0", ""},
    {"Nothing", "", ""},
    {"Path", "/tmp/ray,x:y@z%+=~#!", ""},
    {"SingleQuotedJson", R"('{"a":1}')", ""},
    {"SingleQuotedJsonWithCommas", R"('{"a":1, "b":2}')", ""},
    {"DoubleQuotedJson", R"("{\"x\":1}")", ""},
    {"DoubleQuotedJsonWithCommas", R"("{\"x\":1, \"y\":2}")", ""},
    {"BareJson", R"({"a":1})", ""},
    {"Variable", "$REDIS_PASSWORD", ""},
    {"VariableInBraces", "${REDIS_PASSWORD}", ""},
    {"VariableInQuotes", R"("$REDIS_PASSWORD")", ""},
    {"CommandInSingleQuotes", "'$(id)`id`;'", ""},
    {"QuotedBlank", "\"a b\"\\ c' d'", ""},
    {"LoneDollar", "a$", ""},
    {"Semicolon", "1; id", "the shell acts on ; outside of quotes"},
    {"Ampersand", "1&id", "the shell acts on & outside of quotes"},
    {"Pipe", "1|id", "the shell acts on | outside of quotes"},
    {"Redirection", "1>/etc/x", "the shell acts on > outside of quotes"},
    {"Command", "$(id)", "the shell expands $(; only $NAME is allowed"},
    {"QuotedCommand", R"x("$(id)")x", "the shell expands $(; only $NAME is allowed"},
    {"Arithmetic", "$((1+1))", "the shell expands $(; only $NAME is allowed"},
    {"Backticks", "`id`", "the shell runs what stands in backticks"},
    {"QuotedBackticks", R"("`id`")", "the shell runs what stands in backticks"},
    {"LineBreak", "1\nid", "it has a line break"},
    {"QuotedLineBreak", "'1\nid'", "it has a line break"},
    {"DefaultOfAVariable", "${A:-$(id)}", "of ${…} only ${NAME} is allowed"},
    {"NoName", "${}", "of ${…} only ${NAME} is allowed"},
    {"OpenBrace", "${A", "of ${…} only ${NAME} is allowed"},
    {"AnsiQuotes", "$'a'", "the shell expands $'; only $NAME is allowed"},
    {"Blank", "1 --head", "a blank outside of quotes begins another argument"},
    {"OpenSingleQuote", "'a", "a ' is not closed"},
    {"OpenDoubleQuote", R"("a\")", "a \" is not closed"},
    {"LastBackslash", "a\\", "a \\ quotes nothing"},
    {"BareJsonWithComma", R"({"a":1,"b":2})", "the shell expands {…,…} outside of quotes"},
    {"BracesInBraces", R"({${A}\{a,b})", "the shell expands {…,…} outside of quotes"},
    {"BareRange", "{1..9}", "the shell expands {…,…} outside of quotes"},
};
class SEC_01_Word : public testing::TestWithParam<Case> {};
TEST_P(SEC_01_Word, Row) {
  EXPECT_EQ(shell_word_fault(GetParam().text).value_or(""), GetParam().fault);
}
INSTANTIATE_TEST_SUITE_P(, SEC_01_Word, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

// What a real bash makes of it: one line an argument.
std::string arguments_of(const std::string& text) {
  auto script = "A=secret REDIS_PASSWORD=secret; printf '%s\n' --flag=" + text;
  std::string quoted = "'";
  for (const char c : script) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("bash -c " + quoted + "'").c_str(), "r"),
                                                   pclose);
  std::string out;
  for (int c = pipe ? std::fgetc(pipe.get()) : EOF; c != EOF; c = std::fgetc(pipe.get()))
    out += static_cast<char>(c);
  return out;
}

TEST(SEC_01, WhatIsAcceptedIsOneArgumentToBash) {
  for (const auto& row : kCases) {
    if (*row.fault != '\0') continue;
    const auto seen = arguments_of(row.text);
    EXPECT_EQ(std::ranges::count(seen, '\n'), 1) << row.name << ": " << seen;
    EXPECT_TRUE(seen.starts_with("--flag=")) << row.name << ": " << seen;
    EXPECT_EQ(seen.find("uid="), std::string::npos) << row.name;
  }
}

std::string judge(std::string_view spec, bool strict) {
  const auto parsed = parse_part<RayClusterSpec>(yaml(spec), "spec");
  return message_of(validate_cluster_spec(*parsed, {}, {.strict_start_params = strict}));
}

TEST(SEC_01, TheGateRefusesWithThePath) {
  constexpr auto kWorker = R"(
headGroupSpec: {rayStartParams: {dashboard-host: 0.0.0.0}, template: {spec: {containers: [{name: h}]}}}
workerGroupSpecs:
- {groupName: v, minReplicas: 0, maxReplicas: 2, template: {spec: {containers: [{name: w}]}}}
- {groupName: w, minReplicas: 0, maxReplicas: 2, rayStartParams: {num-cpus: '1; id'}, template: {spec: {containers: [{name: w}]}}}
)";
  EXPECT_EQ(judge(kWorker, false), "");
  EXPECT_EQ(
      judge(kWorker, true),
      "workerGroupSpecs[1].rayStartParams[num-cpus] is \"1; id\": the shell acts on ; outside "
      "of quotes");
  constexpr auto kKey =
      "headGroupSpec: {rayStartParams: {'x; id': '1'}, template: {spec: {containers: [{name: "
      "h}]}}}";
  EXPECT_EQ(judge(kKey, false), "");
  EXPECT_EQ(judge(kKey, true),
            "headGroupSpec.rayStartParams has the key \"x; id\", which is no flag of ray start");
}

}  // namespace
}  // namespace manta::ray
