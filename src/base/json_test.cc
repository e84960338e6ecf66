#include "base/json.h"

#include "base/random.h"

#include <boost/json/string.hpp>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace manta {
namespace {

Json json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << (value ? "" : value.error().message);
  return value ? *value : Json();
}

TEST(JsonDump, DoublesPrintAsGoPrintsThem) {
  const std::pair<const char*, const char*> rows[] = {
      {"1.0", "1"},
      {"0.3", "0.3"},
      {"-0.0", "-0"},
      {"1e20", "100000000000000000000"},
      {"1e21", "1e+21"},
      {"1.5e300", "1.5e+300"},
      {"0.000001", "0.000001"},
      {"1e-7", "1e-7"},
      {"5e-324", "5e-324"},
      {"100.25", "100.25"},
      {"123456789012345678901", "123456789012345680000"},
      {"18446744073709551615", "18446744073709551615"},
      {"-9223372036854775808", "-9223372036854775808"}};
  for (const auto& [in, out] : rows) EXPECT_EQ(dump_json(json(in)), out);
}

TEST(JsonDump, EveryDoubleReadsBackEqual) {
  SeededRandom random(7);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::bit_cast<double>(random.next());
    if (!std::isfinite(value)) continue;
    const auto back = json(dump_json(Json(value)));
    EXPECT_EQ(back.to_number<double>(), value) << dump_json(Json(value));
  }
}

TEST(JsonDump, EscapesOnlyWhatItMust) {
  EXPECT_EQ(dump_json(Json("a\"\\\n\t\x01<é>&")), R"("a\"\\\n\t\u0001<é>&")");
  EXPECT_EQ(dump_json(Json("<&>\xe2\x80\xa8"), JsonEscape::Html), R"("\u003c\u0026\u003e\u2028")");
}

TEST(JsonDump, CanonicalSortsKeysAtEveryLevel) {
  EXPECT_EQ(canonical_json(json(R"({"b":{"z":1,"a":[{"y":1,"x":2}]},"a":null})")),
            R"({"a":null,"b":{"a":[{"x":2,"y":1}],"z":1}})");
  EXPECT_EQ(dump_json(json(R"({"b":1,"a":2})")), R"({"b":1,"a":2})");
  EXPECT_EQ(pretty_json(json(R"({"a":[1,{}],"b":{}})")),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {}\n}");
}

TEST(JsonParse, ErrorsNameThePlace) {
  const auto at = [](std::string_view text) { return parse_json(text).error().message; };
  EXPECT_NE(at("{\n  \"a\": }").find("line 2, column 8"), std::string::npos) << at("{\n  \"a\": }");
  EXPECT_NE(at("{} x").find("after the end"), std::string::npos);
  EXPECT_NE(at("[1").find("too early"), std::string::npos);
  EXPECT_FALSE(parse_json(""));
  EXPECT_FALSE(parse_json("{'a':1}"));
  EXPECT_FALSE(parse_json("[1,]"));
  EXPECT_FALSE(parse_json("\"\xff\""));
  EXPECT_FALSE(parse_json("1e999"));
  EXPECT_TRUE(parse_json(std::string(128, '[') + std::string(128, ']')));
  EXPECT_FALSE(parse_json(std::string(129, '[') + std::string(129, ']')));
}

// A copy would be gone before what is read is used.
TEST(JsonFind, AnObjectIsReadWhereItStands) {
  const auto doc = json(R"({"a":{"s":"x","l":[1]}})");
  const JsonObject& object = doc.get_object();
  EXPECT_EQ(string_at(object, {"a", "s"}).data(), find(doc, {"a", "s"})->get_string().data());
  EXPECT_EQ(&object_at(object, {"a"}), find(doc, {"a"})->if_object());
  EXPECT_EQ(&array_at(object, {"a", "l"}), find(doc, {"a", "l"})->if_array());
}

TEST(JsonFind, WrongTypesReadAsAbsent) {
  const auto doc = json(R"({"a":{"s":"x","i":3,"f":4.0,"b":true,"l":[1]},"n":null})");
  EXPECT_EQ(string_at(doc, {"a", "s"}), "x");
  EXPECT_EQ(string_at(doc, {"a", "i"}, "none"), "none");
  EXPECT_EQ(string_at(doc, {"a", "s", "deeper"}, "none"), "none");
  EXPECT_EQ(int_at(doc, {"a", "i"}), 3);
  EXPECT_EQ(int_at(doc, {"a", "f"}), 4);
  EXPECT_EQ(int_at(doc, {"a", "s"}, -1), -1);
  EXPECT_TRUE(bool_at(doc, {"a", "b"}));
  EXPECT_EQ(array_at(doc, {"a", "l"}).size(), 1u);
  EXPECT_TRUE(array_at(doc, {"a"}).empty());
  EXPECT_TRUE(object_at(doc, {"n"}).empty());
  EXPECT_EQ(find(doc, {"a", "missing"}), nullptr);
  EXPECT_EQ(find(doc, {}), &doc);
}

TEST(JsonEnsure, MakesTheWay) {
  Json doc = json(R"({"a":5})");
  ensure(doc, {"a", "b"}) = "x";
  EXPECT_EQ(dump_json(doc), R"({"a":{"b":"x"}})");
}

// RFC 7386, appendix A.
TEST(MergePatch, ExamplesOfTheRfc) {
  const char* rows[][3] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}};
  for (const auto& row : rows) {
    Json target = json(row[0]);
    merge_patch(target, json(row[1]));
    EXPECT_EQ(dump_json(target), row[2]);
  }
}

TEST(JsonPatch, Operations) {
  const char* rows[][3] = {
      {R"({"a":[1,2]})", R"([{"op":"add","path":"/a/1","value":9}])", R"({"a":[1,9,2]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a/b":1,"m~n":2})",
       R"([{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/m~0n","value":3}])",
       R"({"m~n":3})"},
      {R"({"a":{}})", R"([{"op":"replace","path":"/a/b","value":1}])", R"({"a":{"b":1}})"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])", R"({"a":{},"c":1})"},
      {R"({"a":1})",
       R"([{"op":"copy","from":"/a","path":"/b"},{"op":"test","path":"/b","value":1}])",
       R"({"a":1,"b":1})"},
      {R"({"a":1})", R"([{"op":"add","path":"","value":[]}])", R"([])"}};
  for (const auto& row : rows) {
    Json target = json(row[0]);
    const auto applied = json_patch(target, json(row[1]));
    EXPECT_TRUE(applied) << (applied ? "" : applied.error().message);
    EXPECT_EQ(dump_json(target), row[2]);
  }
}

TEST(JsonPatch, CopiesOfCopiesAndEndlessNestingAreRefused) {
  JsonArray doubling{JsonObject{{"op", "add"}, {"path", "/d"}, {"value", JsonArray{"0123456789"}}}};
  for (int i = 0; i < 60; ++i)
    doubling.push_back(JsonObject{{"op", "copy"}, {"from", "/d"}, {"path", "/d/-"}});
  Json target = json("{}");
  auto applied = json_patch(target, doubling);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, ErrorCode::TooLarge);

  JsonArray nesting{JsonObject{{"op", "add"}, {"path", "/a"}, {"value", 1}}};
  for (int i = 0; i < 200; ++i) {
    nesting.push_back(JsonObject{{"op", "add"}, {"path", "/b"}, {"value", JsonObject{}}});
    nesting.push_back(JsonObject{{"op", "move"}, {"from", "/a"}, {"path", "/b/a"}});
    nesting.push_back(JsonObject{{"op", "move"}, {"from", "/b"}, {"path", "/a"}});
  }
  applied = json_patch(target, nesting);
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().message.find("levels deep"), std::string::npos);

  applied = json_patch(target, JsonArray(10'001, JsonObject{}));
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(dump_json(target), "{}");
}

TEST(JsonPatch, AFailureLeavesTheTargetAndNamesTheOperation) {
  const char* patches[] = {
      R"([{"op":"add","path":"/x","value":1},{"op":"test","path":"/a","value":2}])",
      R"([{"op":"add","path":"/x","value":1},{"op":"remove","path":"/none"}])",
      R"([{"op":"add","path":"/x","value":1},{"op":"add","path":"/l/5","value":1}])",
      R"([{"op":"add","path":"/x","value":1},{"op":"remove","path":"/l/01"}])",
      R"([{"op":"add","path":"/x","value":1},{"op":"explode","path":"/a"}])",
      R"([{"op":"add","path":"/x","value":1},{"op":"move","from":"/l","path":"/l/0"}])"};
  for (const auto* patch : patches) {
    Json target = json(R"({"a":1,"l":[1]})");
    const auto applied = json_patch(target, json(patch));
    ASSERT_FALSE(applied) << patch;
    EXPECT_NE(applied.error().message.find("operation 1"), std::string::npos)
        << applied.error().message;
    EXPECT_EQ(dump_json(target), R"({"a":1,"l":[1]})");
  }
}

TEST(Json, MinusZeroStaysWhatItWas) {
  for (const std::string_view text : {"-0", "[-0,0]", "{\"a\":-0}"}) {
    const auto value = parse_json(text);
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(dump_json(*value), text);
  }
  EXPECT_EQ(dump_json(parse_json("-0.0").value()), "-0");
  EXPECT_EQ(int_at(parse_json("{\"a\":-0}").value(), {"a"}, 7), 0);
}

}  // namespace
}  // namespace manta
