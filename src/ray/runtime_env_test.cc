#include "ray/runtime_env.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

struct Case {
  const char* name;
  const char* yaml;
  const char* text;
};
const Case kCases[] = {
    {"SortedAndEscaped", "b: 1\na: {z: x, q: '<&>'}",
     R"({"a":{"q":"\u003c\u0026\u003e","z":"x"},"b":1})"},
    {"Nothing", "", "null"},
    {"Comments", "# nothing", "null"},
    {"Null", "null", "null"},
    {"NullIsKept", "a: ~", R"({"a":null})"},
    {"Yaml11", "on: yes\nenv_vars: {A: n, B: 012, C: Off}",
     R"({"env_vars":{"A":false,"B":10,"C":false},"true":true})"},
    {"Numbers", "a: 2.0\nb: .5\nc: 1e3\nd: 1_000", R"({"a":2,"b":0.5,"c":1000,"d":1000})"},
    {"TheLastOfTwoKeys", "a: 1\na: 2", R"({"a":2})"},
    {"TheFirstDocument", "a: 1\n---\nb: 2", R"({"a":1})"},
};
class RuntimeEnvText : public testing::TestWithParam<Case> {};
TEST_P(RuntimeEnvText, Row) {
  const auto text = runtime_env_text(GetParam().yaml);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(, RuntimeEnvText, testing::ValuesIn(kCases),
                         [](auto& info) { return info.param.name; });

TEST(RuntimeEnv, IsAMapping) {
  for (const auto* yaml : {"word", "[pip]", "7", "'text'"}) {
    const auto env = parse_runtime_env(yaml);
    ASSERT_FALSE(env) << yaml;
    EXPECT_EQ(env.error().message, "must be a mapping of keys to values");
  }
  EXPECT_FALSE(parse_runtime_env("a: [1"));
}

}  // namespace
}  // namespace manta::ray
