#include "local/apiserver/cel.h"

#include <gtest/gtest.h>

namespace manta::local::cel {
namespace {

struct Case {
  const char* name;
  const char* rule;
  const char* self;
  const char* want;  // "true", "false", or what evaluation fails with
};

const Case kCases[] = {
    {"ManagedByKnown", "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",
     R"("ray.io/kuberay-operator")", "true"},
    {"ManagedByUnknown", "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",
     R"("me")", "false"},
    {"LegacyAndRules", "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))",
     R"({"onSuccess":1,"deletionRules":[]})", "false"},
    {"OnlyRules", "((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))",
     R"({"deletionRules":[]})", "true"},
    {"MissingKeyFails", "self.a <= self.b", R"({"a":1})", "no such key: b"},
    {"OrAbsorbsErrors", "self.b > 1 || self.a == 1", R"({"a":1})", "true"},
    {"AndAbsorbsErrors", "self.b > 1 && self.a == 2", R"({"a":1})", "false"},
    {"Ternary", "has(self.a) ? self.a > 0 : true", R"({})", "true"},
    {"SizeOfTextCountsCharacters", "size(self) == 3", R"("añb")", "true"},
    {"AllAndMap", "self.map(x, x.n * 2).all(y, y > 2)", R"([{"n":2},{"n":3}])", "true"},
    {"ExistsOne", "self.exists_one(x, x == 'a')", R"(["a","b","a"])", "false"},
    {"FilterSize", "self.filter(x, x > 1).size() == 2", R"([1,2,3])", "true"},
    {"MapKeys", "self.all(k, k.startsWith('app.'))", R"({"app.a":1,"b":2})", "false"},
    {"TwoVariables", "self.all(k, v, v > 0 && k != '')", R"({"a":1,"b":2})", "true"},
    {"StringFunctions", "self.lowerAscii().split('/')[1].matches('^[a-z]+$')", R"("A/BC")", "true"},
    {"Index", "self.items[0].name == 'x'", R"({"items":[{"name":"x"}]})", "true"},
    {"IndexOutside", "self[3] == 1", R"([1])", "index out of bounds: 3"},
    {"OptionalSelect", "self.?a.?b.orValue('none') == 'none'", R"({"a":{}})", "true"},
    {"Quantity", "quantity(self).isLessThan(quantity('1Gi'))", R"("512Mi")", "true"},
    {"Duration", "duration(self) <= duration('1h')", R"("90m")", "false"},
    {"DivisionByZero", "10 / self > 1", "0", "division by zero"},
    {"Overflow", "self + 1 > 0", "9223372036854775807", "integer overflow"},
    {"WrongTypes", "self > 'a'", "1", "no such overload"},
    {"EscapedName", "self.foo__dot__bar == 1", R"({"foo.bar":1})", "true"},
    {"NotABool", "self.a", R"({"a":1})", "the rule gives no bool"},
};

class Cel : public testing::TestWithParam<Case> {};
TEST_P(Cel, Row) {
  auto program = Program::compile(GetParam().rule);
  ASSERT_TRUE(program) << program.error().message;
  const auto self = *parse_json(GetParam().self);
  auto verdict = (*program)->check({{"self", &self}});
  EXPECT_EQ(verdict ? (*verdict ? "true" : "false") : verdict.error().message, GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, Cel, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(CelCompile, RefusesWhatItDoesNotKnow) {
  for (const auto* text : {"", "self ==", "frobnicate(self)", "self.frob()", "other > 1",
                           "self && (", "'abc", "has(self)", "a.b(c)", "1 ? 2"})
    EXPECT_FALSE(Program::compile(text)) << text;
}

TEST(CelCompile, RefusesDeepNestingInsteadOfOverflowing) {
  EXPECT_FALSE(Program::compile(std::string(10'000, '(') + "1" + std::string(10'000, ')')));
  EXPECT_FALSE(Program::compile(std::string(10'000, '!') + "true"));
}

TEST(CelCompile, KnowsWhetherTheOldValueIsUsed) {
  EXPECT_TRUE((*Program::compile("self == oldSelf"))->mentions("oldSelf"));
  EXPECT_FALSE((*Program::compile("self.oldSelf == 1"))->mentions("oldSelf"));
}

}  // namespace
TEST(CelCompile, LongChainsEndBeforeTheStackDoes) {
  const auto chain = [](std::size_t links) {
    std::string text = "1";
    for (std::size_t i = 0; i < links; ++i) text += "+1";
    return text + " > 0";
  };
  const auto long_one = Program::compile(chain(900));
  ASSERT_TRUE(long_one.has_value()) << long_one.error().message;
  EXPECT_TRUE((*long_one)->check({}).value_or(false));
  EXPECT_FALSE(Program::compile(chain(100'000)).has_value());
}

}  // namespace manta::local::cel
