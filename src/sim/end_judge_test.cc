// What a run's end is compared by: it leaves out when things happened, and nothing else.
#include "sim/end_judge.h"

#include "ray/labels.h"
#include "sim/dice.h"
#include "sim/script_objects.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;

JsonObject cluster_of(const char* strategy) {
  Dice dice(1);
  auto spec = cluster_spec(dice).as_object();
  if (*strategy) spec["upgradeStrategy"] = JsonObject{{"type", strategy}};
  return spec;
}

struct EndJudge : testing::Test {
  void put(const JsonObject& spec) {
    ASSERT_TRUE(world.put(object("RayCluster", "c", spec)).has_value());
    ASSERT_TRUE(world.settle());
  }
  void set_image(JsonObject& spec, const char* image) {
    Json head = spec["headGroupSpec"];
    ensure(head, {"template", "spec"})
        .as_object()["containers"]
        .as_array()
        .at(0)
        .as_object()["image"] = image;
    spec["headGroupSpec"] = std::move(head);
    put(spec);
  }
  void make_head_anew() {
    ASSERT_TRUE(world.erase("Pod", world.head("c")).has_value());
    ASSERT_TRUE(world.settle());
  }
  std::vector<std::string> picture() const { return picture_of_clusters(world); }

  World world;
};

// Without a strategy an edit changes no Pod that is there: when the head was last made decides.
TEST_F(EndJudge, AHeadsImageIsHistory) {
  auto spec = cluster_of("");
  put(spec);
  set_image(spec, "ray:2");
  const auto kept = picture();
  make_head_anew();
  EXPECT_EQ(difference(kept, picture()), "");
}

TEST_F(EndJudge, ButNotOfAClusterThatIsRecreated) {
  auto spec = cluster_of("Recreate");
  put(spec);
  const auto before = picture();
  set_image(spec, "ray:2");
  EXPECT_NE(difference(before, picture()).find("ray:2"), std::string::npos);
}

// A RayService's cluster that grew in place has its spec's hash, and its head an older one.
TEST_F(EndJudge, AHeadsHashIsHiddenOnTheHeadAlone) {
  put(cluster_of(""));
  const std::string hash(string_at(world.get("Pod", world.head("c")),
                                   {"metadata", "annotations", ray::kAnnotationRecreateHash}));
  ASSERT_NE(hash, "");
  const Json note{{"metadata", {{"annotations", {{"note", hash}}}}}};
  ASSERT_TRUE(world.merge("RayCluster", "c", note).has_value());
  EXPECT_EQ(std::ranges::count_if(picture(),
                                  [&](const auto& line) { return line.find(hash) != line.npos; }),
            1);
}

TEST_F(EndJudge, AMissingWorkerIsSeen) {
  put(cluster_of(""));
  const auto before = picture();
  world.stop_operator();
  ASSERT_TRUE(world.erase("Pod", world.workers("c").at(0)).has_value());
  world.pass(1min);
  EXPECT_NE(difference(before, picture()), "");
}

}  // namespace
}  // namespace manta::sim
