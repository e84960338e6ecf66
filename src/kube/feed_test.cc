#include "kube/feed.h"

#include "kube/views.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::kube {
namespace {

Json secret(std::string_view name, int revision) {
  return *parse_json(fmt::format(
      R"({{"metadata": {{"name": "{0}", "namespace": "n", "uid": "{0}-uid", "resourceVersion": "{1}"}}}})",
      name, revision));
}

class OneFollowed : public testing::Test {
 protected:
  bool held(const std::string& name) { return secrets.get({"n", name}) != nullptr; }
  /// A whole list of what the feed follows, as of a revision.
  void list(int revision, const std::vector<Json>& objects) {
    feed.begin_replace();
    for (const auto& object : objects) feed.replace_item(object);
    feed.end_replace(static_cast<std::uint64_t>(revision));
  }

  Cache<MetaView> secrets{kSecrets, project_meta, {.on_demand = true}};
  Feed feed{secrets, {"n", "a"}};
};

TEST_F(OneFollowed, IsAskedForByItsName) {
  EXPECT_EQ(feed.scope().namespace_, "n");
  EXPECT_EQ(feed.scope().field_selector, "metadata.name=a");
}

TEST_F(OneFollowed, IsFoundInTheCacheThatOthersRead) {
  list(5, {secret("a", 3)});
  EXPECT_TRUE(feed.synced());
  EXPECT_TRUE(held("a"));
  feed.observe(secret("a", 6));
  EXPECT_EQ(secrets.get({"n", "a"})->meta.resource_version, 6u);
  feed.observe_gone({"n", "a"}, "a-uid");
  EXPECT_FALSE(held("a"));
}

TEST_F(OneFollowed, IsGoneWhenAListLacksItAndOthersStay) {
  Feed other(secrets, {"n", "b"});
  other.observe(secret("b", 2));
  list(5, {secret("a", 3)});
  list(9, {});
  EXPECT_FALSE(held("a"));
  EXPECT_TRUE(held("b"));
}

TEST_F(OneFollowed, IsHeldNoLongerWhenForgotten) {
  list(5, {secret("a", 3)});
  secrets.forget({"n", "a"});
  EXPECT_FALSE(held("a"));
  EXPECT_TRUE(feed.keys().empty());
  list(9, {secret("a", 3)});  // followed again
  EXPECT_TRUE(held("a"));
}

}  // namespace
}  // namespace manta::kube
