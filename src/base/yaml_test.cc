#include "base/yaml.h"

#include "base/random.h"

#include <boost/json/string.hpp>
#include <gtest/gtest.h>

namespace manta {
namespace {

std::string read(std::string_view text) {
  const auto value = parse_yaml_one(text);
  return value ? dump_json(*value) : value.error().message;
}

TEST(YamlParse, ScalarsAsKubernetesReadsThem) {
  const std::pair<const char*, const char*> rows[] = {
      {"true", "true"},
      {"yes", "true"},
      {"On", "true"},
      {"no", "false"},
      {"OFF", "false"},
      {"y", R"("y")"},
      {"n", R"("n")"},
      {"tRue", R"("tRue")"},
      {"'true'", R"("true")"},
      {"\"1\"", R"("1")"},
      {"1", "1"},
      {"-1", "-1"},
      {"+1", "1"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"017", "15"},
      {"0b101", "5"},
      {"08", "8"},
      {"1_000", "1000"},
      {"1.50", "1.5"},
      {".5", "0.5"},
      {"1e3", "1000"},
      {"-2.5e-3", "-0.0025"},
      {"1.2.3", R"("1.2.3")"},
      {"10:30", R"("10:30")"},
      {"2001-01-01", R"("2001-01-01")"},
      {"1Gi", R"("1Gi")"},
      {"500m", R"("500m")"},
      {"18446744073709551615", "18446744073709551615"},
      {"!!str 1", R"("1")"},
      {"!!int '3'", "3"},
      {"!!float 1", "1"},
      {"!!binary aGk=", R"("hi")"},
      {"|\n a\n b\n", R"("a\nb\n")"},
      {">\n a\n b\n", R"("a b\n")"},
      {"[a, ~, null, '']", R"(["a",null,null,""])"}};
  for (const auto& [in, out] : rows) {
    EXPECT_EQ(read(in), out) << in;
  }
  EXPECT_EQ(read("- \n- -\n- --x"), R"([null,[null],"--x"])");
}

TEST(YamlParse, MappingsAnchorsAndMerges) {
  EXPECT_EQ(read("a: 1\nb:\n- c: {d: e}\n- f\n"), R"({"a":1,"b":[{"c":{"d":"e"}},"f"]})");
  EXPECT_EQ(read("1: a\ntrue: b\n1.5: c\n'': d"), R"({"1":"a","true":"b","1.5":"c","":"d"})");
  EXPECT_EQ(read("a: &x {k: v}\nb: *x\nc: &s text\nd: *s"),
            R"({"a":{"k":"v"},"b":{"k":"v"},"c":"text","d":"text"})");
  EXPECT_EQ(read("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n"),
            R"({"base":{"x":1,"y":2},"use":{"y":3,"x":1}})");
  EXPECT_EQ(read("use:\n  <<: [{x: 1}, {x: 2, z: 3}]\n"), R"({"use":{"x":1,"z":3}})");
  EXPECT_EQ(read(R"({"json": [1, "two", null], "is": {"yaml": true}})"),
            R"({"json":[1,"two",null],"is":{"yaml":true}})");
}

TEST(YamlParse, Documents) {
  const auto documents =
      parse_yaml("# first\n---\na: 1\n---\n# nothing here\n---\nb: 2\n...\n---\n");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ(dump_json((*documents)[1]), R"({"b":2})");
  EXPECT_TRUE(parse_yaml("")->empty());
  EXPECT_FALSE(parse_yaml_one(""));
  EXPECT_FALSE(parse_yaml_one("a: 1\n---\nb: 2\n"));
}

TEST(YamlParse, RefusalsNameThePlace) {
  const std::pair<const char*, const char*> rows[] = {
      {"a: 1\nb: 2\na: 3\n", "line 3, column 1: the key \"a\" is there twice"},
      {"a: [1, 2\nb: 3", "line 2"},
      {"a: b: c", "line 1, column 5"},
      {"? [a]\n: b", "a key must be a scalar"},
      {"~: b", "a key must not be null"},
      {"a: .inf", "no JSON form"},
      {"a: !odd b", "unknown tag"},
      {"a: !!int x", "is no int"},
      {"a: *nowhere", "line 1, column 4"},
      {"a: &x [*x]", "inside the node"},
      {"\ta: 1", "line 1"},
      {"<<: 5", "must name a mapping"}};
  for (const auto& [in, out] : rows)
    EXPECT_NE(read(in).find(out), std::string::npos) << in << " gave " << read(in);
  EXPECT_NE(read(std::string(200, '[') + std::string(200, ']')).find("levels deep"),
            std::string::npos);
}

TEST(YamlParse, AnAliasBombIsRefused) {
  std::string bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) bomb += (k ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(read(bomb).find("more than 10 MiB"), std::string::npos);
}

TEST(YamlDump, ReadsLikeKubectl) {
  const auto value = parse_json(
      R"({"kind":"Pod","num":5,"s":"5","b":"yes","d":"2001-01-01","e":"","l":["--x",{"k":"v","m":[1]},[2,3],[],{}],"t":"a\nb\n","u":"a\n\n b","y":"y"})");
  EXPECT_EQ(dump_yaml(*value), R"(kind: Pod
num: 5
s: "5"
b: "yes"
d: "2001-01-01"
e: ""
l:
- --x
- k: v
  m:
  - 1
- - 2
  - 3
- []
- {}
t: |
  a
  b
u: |-
  a

   b
"y": "y"
)");
}

std::string random_text(SeededRandom& random) {
  static const char* const kParts[] = {"a",
                                       " ",
                                       ":",
                                       ": ",
                                       "#",
                                       " #",
                                       "-",
                                       "- ",
                                       "\n",
                                       "\n\n",
                                       "\t",
                                       "'",
                                       "\"",
                                       "\\",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       "&",
                                       "*",
                                       "!",
                                       "|",
                                       ">",
                                       "%",
                                       "@",
                                       "`",
                                       "?",
                                       "? ",
                                       "true",
                                       "1",
                                       "0x",
                                       "~",
                                       "é",
                                       "\xe2\x80\xa8",
                                       "\xf0\x9f\x98\x80",
                                       "\x01",
                                       "\r",
                                       "---",
                                       "...",
                                       "null",
                                       "<<",
                                       "=",
                                       "\xc2\x85",
                                       "\x7f",
                                       "\xef\xbb\xbf"};
  std::string text;
  for (auto n = random.next() % 7; n > 0; --n) text += kParts[random.next() % std::size(kParts)];
  return text;
}

Json random_value(SeededRandom& random, int depth) {
  switch (random.next() % (depth > 0 ? 7 : 5)) {
    case 0:
      return nullptr;
    case 1:
      return random.next() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random.next());
    case 3:
      return static_cast<double>(random.next() % 1000) / 8 + 0.0625;
    case 5: {
      JsonArray array;
      for (auto n = random.next() % 4; n > 0; --n) array.push_back(random_value(random, depth - 1));
      return array;
    }
    case 6: {
      JsonObject object;
      for (auto n = random.next() % 4; n > 0; --n)
        object[random_text(random)] = random_value(random, depth - 1);
      return object;
    }
    default:
      return Json(random_text(random));
  }
}

TEST(YamlDump, EveryDocumentReadsBackEqual) {
  SeededRandom random(5);
  for (int i = 0; i < 5000; ++i) {
    const Json value = random_value(random, 3);
    if (value.is_null()) continue;
    const auto text = dump_yaml(value);
    const auto back = parse_yaml_one(text);
    ASSERT_TRUE(back) << text << "\n" << dump_json(value) << "\n" << back.error().message;
    ASSERT_EQ(*back, value) << text << "\n" << dump_json(value) << "\n" << dump_json(*back);
  }
}

TEST(Yaml, LastDuplicateWinsWhenAsked) {
  const auto documents = parse_yaml("{a: 1, b: 2, a: 3}", YamlDuplicates::LastWins);
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(canonical_json(documents->at(0)), R"({"a":3,"b":2})");
}

TEST(Yaml, StrayFlowSignsEnd) {
  // yaml-cpp offers these again and again as a new document.
  for (const std::string_view text : {",", "]", "}", ", a", "a\n---\n,", ",\x1a"})
    EXPECT_FALSE(parse_yaml(text).has_value()) << text;
  EXPECT_EQ(parse_yaml("---\n---\n---\na: 1\n---\nb: 2\n...\n").value().size(), 2u);
}

}  // namespace
}  // namespace manta
