#include "sim/mirror.h"

#include "sim/world.h"

#include <gtest/gtest.h>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;

Json config_map(const char* value) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", "m"}, {"labels", {{"value", value}}}}}};
}

struct MirrorTest : testing::Test {
  MirrorTest() {
    world.mirror().listen([this](const Change& change) {
      if (string_at(change.newest(), {"kind"}) != "ConfigMap") return;
      const auto label = [](const Json& object) {
        return object.is_null() ? std::string("-") : label_of(object, "value");
      };
      seen.push_back(label(change.before) + " to " + label(change.after));
    });
  }

  World world{{.start_operator = false}};
  std::vector<std::string> seen;
};

TEST_F(MirrorTest, EveryChangeIsToldWithWhatWasBefore) {
  ASSERT_TRUE(world.put(config_map("a")).has_value());
  ASSERT_TRUE(world.put(config_map("b")).has_value());
  ASSERT_TRUE(world.erase("ConfigMap", "m").has_value());
  EXPECT_EQ(seen, (std::vector<std::string>{"- to a", "a to b", "b to -"}));
}

TEST_F(MirrorTest, ItHoldsWhatIsStored) {
  ASSERT_TRUE(world.put(config_map("a")).has_value());
  const auto& mirror = world.mirror();
  const auto* found = mirror.find("ConfigMap", "m");
  ASSERT_NE(found, nullptr);
  const auto uid = uid_of(*found);
  EXPECT_EQ(mirror.by_uid(uid), found);
  EXPECT_EQ(mirror.list("ConfigMap", {{"value", "a"}}).size(), 1u);
  EXPECT_EQ(mirror.list("ConfigMap", {{"value", "b"}}).size(), 0u);
  ASSERT_TRUE(world.erase("ConfigMap", "m").has_value());
  EXPECT_EQ(mirror.find("ConfigMap", "m"), nullptr);
  EXPECT_EQ(mirror.by_uid(uid), nullptr);
  EXPECT_EQ(mirror.created("ConfigMap"), 1) << "of what is gone, too";
}

TEST_F(MirrorTest, EventsAreNoSignOfUnrest) {
  ASSERT_TRUE(world.put(config_map("a")).has_value());
  const auto changes = world.mirror().changes();
  const Json event{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", {{"name", "e"}, {"namespace", "default"}}},
      {"involvedObject", {{"kind", "ConfigMap"}, {"name", "m"}, {"namespace", "default"}}}};
  const kube::Resource events{
      .group = "", .version = "v1", .plural = "events", .kind = "Event", .namespaced = true};
  ASSERT_TRUE(world.loop().run(world.server().create(events, event)).has_value());
  EXPECT_EQ(world.mirror().list("Event").size(), 1u);
  EXPECT_EQ(world.mirror().changes(), changes);
}

}  // namespace
}  // namespace manta::sim
