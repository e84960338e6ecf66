#include "base/virtual_loop.h"
#include "local/apiserver/api_server.h"
#include "local/apiserver/store.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

// The `manta` daemon tells so of RayCronJobs while their gate is off.
TEST(CreationWarning, OfAKindThatNobodyLooksAfter) {
  VirtualLoop loop;
  SeededRandom random{5};
  const auto store = std::move(*Store::open({}));
  ApiServer api(loop, random, *store, {.warnings = {{"configmaps.", "nobody reads it"}}});
  const auto create = [&](const kube::Resource& resource, std::string_view object) {
    return loop.run(api.call({.verb = kube::Verb::Create,
                              .resource = resource,
                              .namespace_ = "default",
                              .body = *parse_json(object)}));
  };
  const auto made = create(kube::kConfigMaps, R"({"metadata":{"name":"c"}})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->warnings, std::vector<std::string>{"nobody reads it"});
  const auto other = create(kube::kSecrets, R"({"metadata":{"name":"s"}})");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->warnings, std::vector<std::string>{});
}

}  // namespace
}  // namespace manta::local
