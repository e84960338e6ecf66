#include "local/apiserver/strategic_merge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::local {
namespace {

struct Case {
  const char* name;
  const char* target;
  const char* patch;
  const char* want;
};

// All on a Pod.
const Case kCases[] = {
    {"ContainersMergeByName", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})",
     R"({"spec":{"containers":[{"name":"a","image":"2"}]}})",
     R"({"spec":{"containers":[{"name":"a","image":"2"},{"name":"b"}]}})"},
    {"NewContainerIsAppended", R"({"spec":{"containers":[{"name":"a"}]}})",
     R"({"spec":{"containers":[{"name":"c"}]}})",
     R"({"spec":{"containers":[{"name":"a"},{"name":"c"}]}})"},
    {"DeleteDirectiveRemovesOne", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
     R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})",
     R"({"spec":{"containers":[{"name":"b"}]}})"},
    {"ReplaceDirectiveTakesTheListWhole", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
     R"({"spec":{"containers":[{"name":"c"},{"$patch":"replace"}]}})",
     R"({"spec":{"containers":[{"name":"c"}]}})"},
    {"OrderDirectiveSorts", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
     R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}})",
     R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
    {"AtomicListIsReplaced", R"({"spec":{"tolerations":[{"key":"a"}]}})",
     R"({"spec":{"tolerations":[{"key":"b"}]}})", R"({"spec":{"tolerations":[{"key":"b"}]}})"},
    {"FinalizersAreASet", R"({"metadata":{"finalizers":["a","b"]}})",
     R"({"metadata":{"finalizers":["c"],"$deleteFromPrimitiveList/finalizers":["a"]}})",
     R"({"metadata":{"finalizers":["b","c"]}})"},
    {"NullRemoves", R"({"metadata":{"labels":{"a":"b","c":"d"}}})",
     R"({"metadata":{"labels":{"a":null}}})", R"({"metadata":{"labels":{"c":"d"}}})"},
    {"VolumeChangesItsSource", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
     R"({"spec":{"volumes":[{"name":"v","$retainKeys":["name","secret"],"secret":{"secretName":"s"}}]}})",
     R"({"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}}]}})"},
    {"MountsMergeByPath",
     R"({"spec":{"containers":[{"name":"a","volumeMounts":[{"mountPath":"/x","name":"v"}]}]}})",
     R"({"spec":{"containers":[{"name":"a","volumeMounts":[{"mountPath":"/y","name":"v"}]}]}})",
     R"({"spec":{"containers":[{"name":"a","volumeMounts":[{"mountPath":"/x","name":"v"},{"mountPath":"/y","name":"v"}]}]}})"},
    {"ConditionsMergeByType",
     R"({"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"X","status":"True"}]}})",
     R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
     R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"X","status":"True"}]}})"},
};

class StrategicMerge : public testing::TestWithParam<Case> {};
TEST_P(StrategicMerge, Row) {
  BuiltinTypes types;
  auto target = *parse_json(GetParam().target);
  auto done = strategic_merge(target, *parse_json(GetParam().patch), *types.find("core.v1.Pod"));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(dump_json(target), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, StrategicMerge, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

// Items were once looked for one after the other.
TEST(StrategicMergeLists, MayBeLong) {
  BuiltinTypes types;
  const auto pod = [](std::string_view rest) {
    std::string list, order;
    for (int i = 0; i < 30'000; ++i) {
      list += fmt::format(R"({}{{"name":"E{}"{}}})", i ? "," : "", i, rest);
      order += fmt::format(R"({}{{"name":"E{}"}})", i ? "," : "", 29'999 - i);
    }
    return *parse_json(fmt::format(
        R"({{"spec":{{"containers":[{{"name":"c","env":[{}],"$setElementOrder/env":[{}]}}]}}}})",
        list, order));
  };
  auto target = pod("");
  const auto& type = *types.find("core.v1.Pod");
  ASSERT_TRUE(strategic_merge(target, pod(R"(,"value":"a")"), type));
  const auto& items = array_at(array_at(target, {"spec", "containers"})[0], {"env"});
  ASSERT_EQ(items.size(), 30'000u);
  EXPECT_EQ(dump_json(items[0]), R"({"name":"E29999","value":"a"})");
  ASSERT_TRUE(strategic_merge(target, pod(R"(,"$patch":"delete")"), type));
  EXPECT_EQ(array_at(array_at(target, {"spec", "containers"})[0], {"env"}).size(), 0u);
}

TEST(StrategicMergeErrors, ItemWithoutItsKeyIsRefused) {
  BuiltinTypes types;
  auto target = *parse_json(R"({"spec":{"containers":[]}})");
  EXPECT_FALSE(strategic_merge(target, *parse_json(R"({"spec":{"containers":[{"image":"x"}]}})"),
                               *types.find("core.v1.Pod")));
}

}  // namespace
}  // namespace manta::local
