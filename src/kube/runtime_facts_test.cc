// What the runtime asks Ray: when, how often, and whom it lets alone.
#include "kube/testing/runtime_world.h"

namespace manta::kube {
namespace {

class RuntimeFacts : public RuntimeWorld {
 protected:
  void ask(std::function<std::vector<FactRequest>(const ObjectKey&)> wanted) {
    plan = [this, wanted](const ObjectKey& key, const PlanContext& context) -> std::optional<Plan> {
      if (!widgets.get(key)) return std::nullopt;
      facts[key.name] = context.facts;
      Plan made;
      made.facts = wanted(key);
      return made;
    };
  }
  static FactRequest about(const std::string& who, Duration interval = seconds{3}) {
    return {.name = "info",
            .target = "dashboard",
            .circuit = who,
            .query = JsonObject{{"who", std::string_view(who)}},
            .interval = interval};
  }
  std::map<std::string, Facts> facts = {};
};

TEST_F(RuntimeFacts, AreAskedAtOnceThenAtTheirIntervalAndOnlyNewsPlanAgain) {
  make_widget("w", 0);
  ask([](const ObjectKey& key) { return std::vector{about(key.name)}; });
  start();
  loop.run_for(milliseconds{100});
  ASSERT_TRUE(facts["w"].contains("info"));
  EXPECT_EQ(*facts["w"]["info"].answer, Json("fine"));
  const int planned = plans["w"];
  loop.run_for(seconds{60});
  EXPECT_EQ(dashboard.count("w"), 20u);
  EXPECT_EQ(plans["w"], planned);
  dashboard.answer = [](const std::string&) { return Json("changed"); };
  loop.run_for(seconds{4});
  EXPECT_EQ(plans["w"], planned + 1);
  EXPECT_EQ(*facts["w"]["info"].answer, Json("changed"));
}

TEST_F(RuntimeFacts, ADeadCircuitIsProbedEverMoreRarelyByOneAtATime) {
  for (const auto* name : {"a", "b", "c"}) make_widget(name, 0);
  ask([](const ObjectKey&) { return std::vector{about("shared")}; });
  dashboard.answer = [](const std::string&) -> Result<Json> {
    return failed(ErrorCode::Unavailable, "refused");
  };
  start();
  loop.run_for(minutes{10});
  // Three at once, then 6 s doubling to 60 s, up to a tenth sooner.
  EXPECT_GE(dashboard.count("shared"), 12u);
  EXPECT_LE(dashboard.count("shared"), 20u);
  for (const auto* name : {"a", "b", "c"}) {
    ASSERT_TRUE(facts[name].contains("info"));
    EXPECT_FALSE(facts[name]["info"].answer.has_value());
    EXPECT_TRUE(facts[name]["info"].failing_since.has_value());
  }
  dashboard.answer = [](const std::string&) { return Json("back"); };
  loop.run_for(seconds{70});
  for (const auto* name : {"a", "b", "c"}) {
    EXPECT_TRUE(facts[name]["info"].answer.has_value()) << name;
    EXPECT_FALSE(facts[name]["info"].failing_since.has_value());
  }
}

TEST_F(RuntimeFacts, ANewFactOfADeadCircuitFailsWithoutAskingIt) {
  make_widget("w", 0);
  std::string query = "one";
  ask([&](const ObjectKey&) {
    auto fact = about("dead");
    fact.query = JsonObject{{"who", std::string_view(query)}};
    return std::vector{fact, FactRequest{.name = "other", .circuit = "dead", .query = "x"}};
  });
  dashboard.answer = [](const std::string&) -> Result<Json> {
    return failed(ErrorCode::Timeout, "no answer");
  };
  start();
  loop.run_for(minutes{10});
  query = "two";
  runtime.trigger("widget", {"n", "w"});
  loop.run_for(milliseconds{100});
  EXPECT_EQ(dashboard.count("two"), 0u);
  ASSERT_TRUE(facts["w"].contains("info"));
  EXPECT_EQ(facts["w"]["info"].answer.error().code, ErrorCode::Timeout);
}

TEST_F(RuntimeFacts, AHangingDashboardDelaysOnlyItsOwnObject) {
  for (int i = 0; i < 40; ++i) {
    make_widget(fmt::format("dead{}", i), 0);
    dashboard.hangs.insert(fmt::format("dead{}", i));
  }
  make_widget("alive", 0);
  ask([](const ObjectKey& key) { return std::vector{about(key.name)}; });
  start();
  loop.run_for(seconds{61});
  EXPECT_GE(dashboard.count("alive"), 20u);
}

TEST_F(RuntimeFacts, NoLongerNamedIsNoLongerAsked) {
  make_widget("w", 0);
  bool wanted = true;
  ask([&](const ObjectKey& key) {
    return wanted ? std::vector{about(key.name)} : std::vector<FactRequest>{};
  });
  start();
  loop.run_for(seconds{10});
  wanted = false;
  runtime.trigger("widget", {"n", "w"});
  loop.run_for(seconds{1});
  const auto asked = dashboard.count("w");
  loop.run_for(minutes{1});
  EXPECT_EQ(dashboard.count("w"), asked);
  wanted = true;
  runtime.trigger("widget", {"n", "w"});
  loop.run_for(seconds{1});
  EXPECT_EQ(dashboard.count("w"), asked + 1);
  api.delete_now(kWidgets, {"n", "w"});
  loop.run_for(minutes{1});
  EXPECT_EQ(dashboard.count("w"), asked + 1);
}

}  // namespace
}  // namespace manta::kube
