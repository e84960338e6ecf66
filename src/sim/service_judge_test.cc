// That the judge of RayServices sees what it is there for, in every form in which it may come.
#include "sim/service_judge.h"

#include "ray/labels.h"
#include "sim/dice.h"
#include "sim/script_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// RayService s serves, and nobody disturbs it any more.
struct ServiceJudgeTest : testing::Test {
  ServiceJudgeTest() {
    serve->attach(world.loop());
    serve->head_of = world.ray().head_of;
    world.start_operator();
  }
  void SetUp() override {
    Dice dice(1);
    const JsonObject spec{{"serveConfigV2", serve_config(1)},
                          {"serveService", {{"metadata", {{"name", front}}}}},
                          {"rayClusterConfig", cluster_spec(dice)}};
    ASSERT_TRUE(world.put(object("RayService", "s", spec)).has_value());
    ASSERT_TRUE(world.settle());
    world.stop_operator();
    ASSERT_THAT(broken, IsEmpty());
    ASSERT_NE(active(), "");
  }
  ~ServiceJudgeTest() override { world.finish(); }

  std::string active() const {
    return std::string(string_at(world.get("RayService", "s"),
                                 {"status", "activeServiceStatus", "rayClusterName"}));
  }
  void hear_turn(Json body) {
    judge.hear({.verb = kube::Verb::Patch,
                .resource = kube::kServices,
                .namespace_ = "default",
                .name = front,
                .body = std::move(body)});
  }
  static Json selects(const std::string& cluster) {
    return {{"selector", {{ray::kLabelCluster, cluster}}}};
  }

  std::string front = "shop";
  ServeDouble* serve = nullptr;
  World world{{.start_operator = false, .endpoints = true, .tamper_ray = [this](auto& ray) {
                 auto made = std::make_unique<ServeDouble>(ray);
                 serve = made.get();
                 return made;
               }}};
  std::vector<std::string> broken = {};
  ServiceJudge judge{world, *serve, 5s, broken};
};

TEST_F(ServiceJudgeTest, ATurnToAClusterThatDoesNotServeIsSeen) {
  hear_turn({{"spec", selects("nobody")}});
  EXPECT_THAT(broken, ElementsAre(HasSubstr("turns requests from " + active())));
}

TEST_F(ServiceJudgeTest, WhoHasJustBeenLiedToIsNotJudged) {
  judge.hear_lie();
  hear_turn({{"spec", selects("nobody")}});
  EXPECT_TRUE(broken.empty());
  world.pass(6s);
  hear_turn({{"spec", selects("nobody")}});
  EXPECT_THAT(broken, ElementsAre(HasSubstr("turns requests from " + active())));
}

TEST_F(ServiceJudgeTest, AndInAPatchOfTheWholeSpec) {
  hear_turn(JsonArray{{{"op", "test"}, {"path", "/metadata/uid"}, {"value", "u"}},
                      {{"op", "replace"}, {"path", "/spec"}, {"value", selects("nobody")}}});
  EXPECT_THAT(broken, ElementsAre(HasSubstr("turns requests from " + active())));
}

TEST_F(ServiceJudgeTest, ATurnToOneThatServesIsNone) {
  hear_turn({{"spec", selects(active())}});
  EXPECT_THAT(broken, IsEmpty());
}

}  // namespace
}  // namespace manta::sim
