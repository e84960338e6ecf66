#include "controllers/rayservice/serve_config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::rayservice {
namespace {

std::string parsed(std::string_view text) {
  const auto config = parse_serve_config(text);
  return config ? canonical_json(*config) : config.error().message;
}

// The scalars of YAML 1.1, as Kubernetes' tools read them. Source: spec/05 §5.4.
TEST(ServeConfig, ScalarsArriveAsJson) {
  struct Case {
    const char* yaml;
    const char* json;
  };
  for (const auto& [yaml, json] : {
           Case{"a: yes", R"({"a":true})"},
           {"a: Off", R"({"a":false})"},
           {"a: 'yes'", R"({"a":"yes"})"},
           {"a: 0x1F", R"({"a":31})"},
           {"a: 017", R"({"a":15})"},
           {"a: 0o17", R"({"a":15})"},
           {"a: -0b11", R"({"a":-3})"},
           {"a: 1_000", R"({"a":1000})"},
           {"a: 1.0", R"({"a":1})"},
           {"a: 0.25", R"({"a":0.25})"},
           {"a: 1e3", R"({"a":1000})"},
           {"a: -.5", R"({"a":-0.5})"},
           {"a: 12:30", R"({"a":"12:30"})"},
           {"a: 2024-01-02", R"({"a":"2024-01-02"})"},
           {"a: ~", R"({"a":null})"},
           {"n: 1", R"({"false":1})"},
           {"on: 1", R"({"true":1})"},
           {"7: x", R"({"7":"x"})"},
           {"1.5: x", R"({"1.5":"x"})"},
           {"a: 1\na: 2", R"({"a":2})"},
           {"d: &d {x: 1}\ne: {<<: *d}", R"({"d":{"x":1},"e":{"x":1}})"},
           {"", "{}"},
           {"# nothing", "{}"},
           {"null", "{}"},
           {"a: 1\n---\nb: 2", R"({"a":1})"},
       })
    EXPECT_EQ(parsed(yaml), json) << yaml;
}

TEST(ServeConfig, WhatIsNoMappingIsRefusedWithItsLine) {
  EXPECT_NE(parsed("- a").find("line 1"), std::string::npos);
  EXPECT_NE(parsed("text").find("must be a mapping"), std::string::npos);
  EXPECT_NE(parsed("a: 1\nb: [").find("line"), std::string::npos);
  for (const auto* number : {".inf", "-.inf", ".nan"})
    EXPECT_FALSE(parse_serve_config(fmt::format("a: 1\nb: {}", number))) << number;
}

TEST(ServeConfig, CapacityIsSetAndTaken) {
  const auto config = *parse_serve_config("target_capacity: 7\na: 1");
  EXPECT_EQ(capacity_of(config), 7);
  EXPECT_EQ(capacity_of(with_capacity(config, 40)), 40);
  EXPECT_EQ(capacity_of(with_capacity(config, {})), std::nullopt);
  EXPECT_TRUE(same_config(with_capacity(config, {}), *parse_serve_config("a: 1.0")));
}

TEST(ServeConfig, AnApplicationWithoutANameIsCalledDefault) {
  const auto names = application_names(*parse_serve_config("applications: [{name: a}, {x: 1}]"));
  EXPECT_EQ(names, (std::set<std::string>{"a", "default"}));
}

}  // namespace
}  // namespace manta::controllers::rayservice
