#include "local/apiserver/pattern.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

/// Empty when it can be read.
std::string problem(std::string_view expression) {
  const auto pattern = Patterns().compile(expression);
  return pattern ? "" : pattern.error().message;
}

// What a real kube-apiserver 1.37 says of each.
TEST(Pattern, IsReadAsGoReadsIt) {
  const std::pair<const char*, const char*> kRows[] = {
      {"(", "missing closing ): `(`"},
      {"[a", "missing closing ]: `[a`"},
      {"a{2,1}", "invalid repeat count: `{2,1}`"},
      {"a**", "invalid nested repetition operator: `**`"},
      {"(?=a)", "invalid or unsupported Perl syntax: `(?=`"},
      {"a(?!b)", "invalid or unsupported Perl syntax: `(?!`"},
      {"\\1", "invalid escape sequence: `\\1`"},
      {"\\C", "invalid escape sequence: `\\C`"},
      {"\\Z", "invalid escape sequence: `\\Z`"},
      {"a{1001}", "invalid repeat count: `{1001}`"},
      {"(a{500}){500}", "invalid repeat count: `{500}`"},
      {"\\pX", "invalid character class range: `\\pX`"},
      {"[z-a]", "invalid character class range: `z-a`"},
      {"*", "missing argument to repetition operator: `*`"},
      {"a\\", "trailing backslash at end of expression: ``"},
      {")", "unexpected ): `)`"},
      {"(?P<n", "invalid named capture: `(?P<n`"},
  };
  for (const auto& [expression, why] : kRows)
    EXPECT_EQ(problem(expression), std::string("error parsing regexp: ") + why);
  for (const auto* expression :
       {"(?<n>a)", "(?P<n>a)(?P<n>b)", "(?i)x", "a{,2}", "\\pN{500}", "[\\pL]{1000}", "[](]",
        "[^](]", "[[:alpha:](]", "[\\](]", "\\Q(\\C\\E", "[(?<n>]"})
    EXPECT_EQ(problem(expression), "") << expression;
  EXPECT_NE(problem(std::string(1001, '(') + std::string(1001, ')')).find("nests too deeply"),
            std::string::npos);
}

TEST(Pattern, TakesTimeInProportionToTheText) {
  Patterns patterns;
  const auto pattern = patterns.compile("^(a+)+$");
  std::string text(1'000'000, 'a');
  EXPECT_TRUE((*pattern)->found_in(text));
  EXPECT_FALSE((*pattern)->found_in(text + "b"));
}

TEST(Pattern, FindsWhatGoFinds) {
  Patterns patterns;
  const auto found = [&](std::string_view expression, std::string_view text, int limit) {
    std::string list;
    const auto parts = (*patterns.compile(expression))->find_in(text, limit);
    for (const auto part : *parts) list.append("[").append(part).append("]");
    return list;
  };
  EXPECT_EQ(found("a*", "aab", -1), "[aa][]");
  EXPECT_EQ(found("b*", "aäb", -1), "[][][b]");
  EXPECT_EQ(found("a", "aaa", 2), "[a][a]");
  EXPECT_EQ(found("a", "bbb", -1), "");
  EXPECT_EQ(found("^", "ab", -1), "[]");
  // Each search would go to the end.
  const auto greedy = *patterns.compile("a.*b|a");
  EXPECT_FALSE(greedy->find_in(std::string(1'000'000, 'a'), -1).has_value());
}

TEST(Patterns, TogetherAreBounded) {
  Patterns patterns(1u << 20);
  std::size_t made = 0;
  while (made < 100 && patterns.compile("^[a-z]{" + std::to_string(made) + "}$")) ++made;
  EXPECT_EQ(made, 16u);
  EXPECT_TRUE(patterns.compile("^[a-z]{3}$").has_value());  // known already
  EXPECT_FALSE(Patterns(1u << 20).compile("[\\pL]{1000}").has_value());
}

}  // namespace
}  // namespace manta::local
