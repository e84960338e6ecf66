#include "local/apiserver/cel.h"

#include <gtest/gtest.h>

namespace manta::local::cel {
namespace {

Result<std::shared_ptr<const Program>> compile(std::string_view rule) {
  Patterns patterns;
  return Program::compile(rule, patterns);
}

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
    {"MatchesAsGoDoes", "self.matches('^(?<n>\\\\pL+)\\\\z')", R"("añb")", "true"},
    {"MatchesInLinearTime", "self.matches('^(a+)+$')",
     R"("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")", "false"},
    {"MatchesAsAFunction", "matches(self, 'b$')", R"("ab")", "true"},
    {"PatternMadeInTheRule", "'x'.matches(self)", R"("(")",
     "error parsing regexp: missing closing ): `(`"},
    {"Find", "self.find('[0-9]+') == '12'", R"("a12b3")", "true"},
    {"FindAllLeavesOutNothingBehindAMatch", "self.findAll('a*') == ['aa', '']", R"("aab")", "true"},
    {"FindAllUpToALimit", "self.findAll('.', 2) == ['ä', 'b']", R"("äbc")", "true"},
    {"NotABool", "self.a", R"({"a":1})", "the rule gives no bool"},
};

class Cel : public testing::TestWithParam<Case> {};
TEST_P(Cel, Row) {
  auto program = compile(GetParam().rule);
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
    EXPECT_FALSE(compile(text)) << text;
}

TEST(CelCompile, RefusesDeepNestingInsteadOfOverflowing) {
  EXPECT_FALSE(compile(std::string(10'000, '(') + "1" + std::string(10'000, ')')));
  EXPECT_FALSE(compile(std::string(10'000, '!') + "true"));
}

TEST(CelCompile, KnowsWhetherTheOldValueIsUsed) {
  EXPECT_TRUE((*compile("self == oldSelf"))->mentions("oldSelf"));
  EXPECT_FALSE((*compile("self.oldSelf == 1"))->mentions("oldSelf"));
}

TEST(CelCompile, RefusesLiteralPatternsThatAreNone) {
  EXPECT_EQ(compile("self.a.matches('(')").error().message,
            "compilation failed: ERROR: <input>:1:16: invalid matches argument");
  EXPECT_EQ(compile("self.find('[') == ''").error().message,
            "program instantiation failed: error parsing regexp: missing closing ]: `[`");
}

TEST(CelCost, NoRuleMakesMoreThanItMay) {
  std::string doubled = "['aaaaaaaaaaaaaaaa']";
  for (int i = 0; i < 60; ++i) doubled += ".map(x, x + x)";
  const Json long_text(std::string(1'000'000, 'a'));
  JsonArray many(5'000, Json("a"));
  const Json self(JsonObject{{"s", long_text}, {"l", many}});
  for (const auto& rule :
       {doubled + ".size() == 1", std::string("self.s.replace('a', self.s) == ''"),
        std::string("self.l.join(self.s) == ''"), std::string("self.l.map(x, self.s).size() == 1"),
        std::string("self.l.all(x, self == self)"),
        std::string("self.l.all(x, !(self.s in self.l))"),
        std::string("self.s.split('').size() == 1"),
        std::string("self.l.all(x, !self.s.contains('b'))"),
        std::string("self.l.all(x, !self.s.matches(x + '$.'))"),
        std::string("self.s.findAll('a|a.*b').size() == 1")}) {
    const auto program = compile(rule);
    ASSERT_TRUE(program) << program.error().message;
    const auto verdict = (*program)->check({{"self", &self}});
    EXPECT_TRUE(!verdict && verdict.error().message == kTooCostly) << rule;
  }
}

TEST(CelCost, IsWhatWasSpent) {
  JsonArray many(5'000, Json("a"));
  const Json self(many);
  std::size_t spent = 0;
  EXPECT_TRUE(
      (*compile("self.all(x, x == 'a')"))->check({{"self", &self}}, &spent).value_or(false));
  EXPECT_GT(spent, 10'000u);
  EXPECT_LT(spent, 50'000u);
}

TEST(CelCompile, LongChainsEndBeforeTheStackDoes) {
  const auto chain = [](std::size_t links) {
    std::string text = "1";
    for (std::size_t i = 0; i < links; ++i) text += "+1";
    return text + " > 0";
  };
  const auto long_one = compile(chain(900));
  ASSERT_TRUE(long_one.has_value()) << long_one.error().message;
  EXPECT_TRUE((*long_one)->check({}).value_or(false));
  EXPECT_FALSE(compile(chain(100'000)).has_value());
}

}  // namespace
}  // namespace manta::local::cel
