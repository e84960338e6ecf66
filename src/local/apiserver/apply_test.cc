// Server-side apply as its users see it.
#include "local/apiserver/apply.h"

#include "base/virtual_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::local {
namespace {

const kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment", true};

struct World {
  VirtualLoop loop;
  SeededRandom random{3};
  std::unique_ptr<Store> store = std::move(*Store::open({}));
  ApiServer api{loop, random, *store};

  Result<Json> apply(std::string manager, std::string_view spec, bool force = false) {
    kube::Request request;
    request.verb = kube::Verb::Patch;
    request.patch_type = kube::PatchType::Apply;
    request.resource = kDeployments;
    request.namespace_ = "default";
    request.name = "d";
    request.field_manager = std::move(manager);
    request.force = force;
    request.body = *parse_json(
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":)" +
        std::string(spec) + "}");
    return call(std::move(request));
  }
  Result<Json> merge(std::string manager, std::string_view patch) {
    kube::Request request;
    request.verb = kube::Verb::Patch;
    request.resource = kDeployments;
    request.namespace_ = "default";
    request.name = "d";
    request.field_manager = std::move(manager);
    request.body = *parse_json(patch);
    return call(std::move(request));
  }
  Result<Json> call(kube::Request request) {
    auto answer = loop.run(api.call(std::move(request)));
    if (!answer) return std::unexpected(answer.error());
    return std::move(answer->body);
  }
};

constexpr std::string_view kFull =
    R"({"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1","env":[{"name":"X","value":"1"}]}]}}})";
constexpr std::string_view kNoEnv =
    R"({"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}})";

TEST(Apply, CreatesAndThenChangesNothing) {
  World world;
  auto made = world.apply("me", kFull);
  ASSERT_TRUE(made) << made.error().message;
  auto again = world.apply("me", kFull);
  ASSERT_TRUE(again);
  EXPECT_EQ(string_at(*made, {"metadata", "resourceVersion"}),
            string_at(*again, {"metadata", "resourceVersion"}));
}

TEST(Apply, GivesUpWhatItNoLongerNames) {
  World world;
  ASSERT_TRUE(world.apply("me", kFull));
  auto less = world.apply("me", kNoEnv);
  ASSERT_TRUE(less) << less.error().message;
  const auto& container = array_at(*less, {"spec", "template", "spec", "containers"})[0];
  EXPECT_FALSE(find(container, {"env"}));
  EXPECT_EQ(string_at(container, {"image"}), "i:1");
}

TEST(Apply, LeavesWhatOthersSet) {
  World world;
  ASSERT_TRUE(world.apply("me", kFull));
  ASSERT_TRUE(world.merge("other", R"({"metadata":{"labels":{"theirs":"1"}}})"));
  auto again = world.apply("me", kNoEnv);
  ASSERT_TRUE(again);
  EXPECT_EQ(string_at(*again, {"metadata", "labels", "theirs"}), "1");
}

TEST(Apply, ConflictsWithAnUpdateOfTheSameField) {
  World world;
  ASSERT_TRUE(world.apply("me", kFull));
  ASSERT_TRUE(world.merge("scaler", R"({"spec":{"replicas":5}})"));
  auto conflict = world.apply("me", kFull);
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, ErrorCode::Conflict);
  EXPECT_EQ(conflict.error().message,
            "Apply failed with 1 conflict: conflict with \"scaler\" using apps/v1: .spec.replicas");
  ASSERT_EQ(conflict.error().causes.size(), 1u);
  EXPECT_EQ(conflict.error().causes[0].reason, "FieldManagerConflict");
  auto forced = world.apply("me", kFull, true);
  ASSERT_TRUE(forced);
  EXPECT_EQ(int_at(*forced, {"spec", "replicas"}), 2);
}

TEST(Apply, SharesAFieldThatBothWantTheSame) {
  World world;
  ASSERT_TRUE(world.apply("me", kFull));
  ASSERT_TRUE(world.apply(
      "you",
      R"({"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}})"));
  // "me" lets go of it; "you" still holds it.
  auto less = world.apply(
      "me",
      R"({"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}})");
  ASSERT_TRUE(less) << less.error().message;
  EXPECT_EQ(int_at(*less, {"spec", "replicas"}), 2);
}

std::string with_variables(std::size_t count, std::string_view value) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i)
    list += fmt::format(R"({}{{"name":"E{}","value":"{}"}})", i ? "," : "", i, value);
  return fmt::format(
      R"({{"replicas":2,"selector":{{"matchLabels":{{"a":"b"}}}},"template":{{"metadata":{{"labels":{{"a":"b"}}}},)"
      R"("spec":{{"containers":[{{"name":"c","image":"i:1","env":[{}]}}]}}}}}})",
      list);
}

// Items were once looked for one after the other: 15,000 took two minutes.
TEST(Apply, ManyItemsOfAListAreFoundByTheirKeys) {
  World world;
  constexpr std::size_t kCount = 10'000;
  ASSERT_TRUE(world.apply("me", with_variables(kCount, "a")));
  ASSERT_TRUE(world.apply("me", with_variables(kCount, "b")));
  const auto refused = world.apply("other", with_variables(kCount, "c"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().causes.size(), kCount);
  ASSERT_TRUE(world.apply("other", with_variables(kCount, "c"), true));
  const auto fewer = world.apply("other", with_variables(1, "c"), true);
  ASSERT_TRUE(fewer);
  // Items are whole only with their keys: "me" still holds those.
  const auto& left =
      array_at(array_at(*fewer, {"spec", "template", "spec", "containers"})[0], {"env"});
  EXPECT_EQ(left.size(), kCount);
  EXPECT_EQ(dump_json(left.back()), R"({"name":"E9999"})");
  const auto none = world.apply("me", with_variables(1, "c"));
  ASSERT_TRUE(none);
  EXPECT_EQ(
      array_at(array_at(*none, {"spec", "template", "spec", "containers"})[0], {"env"}).size(), 1u);
}

}  // namespace
}  // namespace manta::local
