// What goes to Ray Serve, when, and what its answers mean. Source: spec/05 §5.
#include "controllers/rayservice/serve.h"

#include "controllers/rayservice/serve_config.h"
#include "controllers/rayservice/testing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace manta::controllers::rayservice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kNow;
using testing::kRunning;
using testing::words;
using testing::writes;
using Config = ServeGoal::Config;

struct ServeTable : testing::Table {
  ServeTable() {
    rs.status.activeServiceStatus.rayClusterName = "s-a";
    seen.active = with_head(cluster("s-a", true));
  }
  /// What is sent; empty: nothing.
  std::string sent(ServeGoal goal = {}) {
    auto out = draft();
    const auto serve = look_at_serve(out, seen.active);
    ensure_serve(out, seen.active, serve, goal);
    waits = out.waits;
    const auto made = writes(out.plan);
    if (made.empty()) return {};
    reason = made[0].done_event->reason;
    return dump_json(*find(made[0].body, {"config"}));
  }
  bool serving(ServeGoal goal = {}) {
    auto out = draft();
    return is_serving(look_at_serve(out, seen.active), goal, rs.spec);
  }
  /// Ray lists these applications; this process has sent `config` to the head that is there.
  void ray_says(std::string_view applications, std::string_view config) {
    answer(
        "s-a",
        fmt::format(
            R"({{"applications":{},"submitted":{{"config":{},"head":"head-uid/0","listed":true}}}})",
            applications, config));
  }
  std::vector<std::string> waits = {};
  std::string reason = {};
};
constexpr const char* kA = R"({"applications":[{"name":"a"}]})";
constexpr const char* kARuns = R"({"a":{"status":"RUNNING"}})";

TEST_F(ServeTable, WhoHasSentNothingSendsTheConfig) {
  answer("s-a", R"({"applications":{"a":{"status":"RUNNING"}}})");
  EXPECT_EQ(sent(), kA);
  EXPECT_EQ(reason, "UpdatedServeApplications");
}

TEST_F(ServeTable, NothingIsSentBeforeTheDashboardHasAnswered) {
  EXPECT_EQ(sent(), "");
  facts["serve:s-a"] = {.answer = failed(ErrorCode::Unavailable, "HTTP 503"), .at = kNow};
  EXPECT_EQ(sent(), "");
  EXPECT_THAT(waits, ElementsAre(HasSubstr("the dashboard of s-a does not answer: ")));
}

TEST_F(ServeTable, TheSameConfigIsNotSentAgainAndAnotherIs) {
  ray_says(kARuns, kA);
  EXPECT_EQ(sent(), "");
  rs.spec.serveConfigV2 = "{applications: [{name: a}]}  # in other words";
  EXPECT_EQ(sent(), "");
  rs.spec.serveConfigV2 = "applications: [{name: b}]";
  EXPECT_EQ(sent(), R"({"applications":[{"name":"b"}]})");
}

TEST_F(ServeTable, InStepsTheCapacityGoesAlongAndOverridesTheUsers) {
  rs.spec.serveConfigV2 = "{applications: [{name: a}], target_capacity: 7}";
  ray_says(kARuns, R"({"applications":[{"name":"a"}],"target_capacity":100})");
  EXPECT_EQ(sent({.capacity = 100}), "");
  EXPECT_EQ(sent({.capacity = 50}), R"({"applications":[{"name":"a"}],"target_capacity":50})");
  EXPECT_EQ(reason, "UpdatedServeTargetCapacity");
}

TEST_F(ServeTable, TheOldClusterKeepsItsConfigWhileTheOtherTakesOver) {
  rs.spec.serveConfigV2 = "applications: [{name: new}]";
  ray_says(kARuns, R"({"applications":[{"name":"a"}],"target_capacity":100})");
  EXPECT_EQ(sent({.config = Config::Held, .capacity = 100}), "");
  EXPECT_EQ(sent({.config = Config::Held, .capacity = 50}),
            R"({"applications":[{"name":"a"}],"target_capacity":50})");
}

TEST_F(ServeTable, AfterARestartTheHeldConfigIsTheOneThatRayTells) {
  rs.spec.serveConfigV2 = "applications: [{name: new}]";
  answer("s-a",
         R"({"applications":{"a":{"status":"RUNNING","deployed_app_config":{"name":"a","x":1}}}})");
  EXPECT_EQ(sent({.config = Config::Held, .capacity = 100, .had_capacity = 100}), "")
      << "what the status remembers was sent";
  EXPECT_EQ(sent({.config = Config::Held, .capacity = 50, .had_capacity = 100}),
            R"({"applications":[{"name":"a","x":1}],"target_capacity":50})");
}

TEST_F(ServeTable, ABlankConfigIsRefusedOnceSomebodyIsServed) {
  rs.spec.serveConfigV2 = "# nothing";
  ray_says(kARuns, kA);
  EXPECT_EQ(sent(), "");
  EXPECT_THAT(waits, ElementsAre(HasSubstr("spec.serveConfigV2 is blank")));
  rs.status.activeServiceStatus.rayClusterName.clear();
  rs.status.pendingServiceStatus.rayClusterName = "s-a";
  EXPECT_EQ(sent(), "{}");
}

TEST_F(ServeTable, RS_28_WhatRayHasLostIsSentAgain) {
  ray_says("{}", kA);
  EXPECT_EQ(sent(), kA) << "it was listed before";
  const auto unlisted = [&](std::string_view config, std::string_view head, Duration ago) {
    answer(
        "s-a",
        fmt::format(
            R"({{"applications":{{}},"submitted":{{"config":{},"head":"{}","listed":false,"at":{}}}}})",
            config, head, (kNow - ago).time_since_epoch().count()));
  };
  unlisted(kA, "head-uid/0", std::chrono::seconds{59});
  EXPECT_EQ(sent(), "") << "it takes its time";
  unlisted(kA, "head-uid/0", std::chrono::seconds{60});
  EXPECT_EQ(sent(), kA) << "it never came";
  unlisted(kA, "earlier/0", std::chrono::seconds{1});
  EXPECT_EQ(sent(), kA) << "another head";
  rs.spec.serveConfigV2 = "{applications: []}";
  unlisted(R"({"applications":[]})", "head-uid/0", std::chrono::hours{1});
  EXPECT_EQ(sent(), "") << "there is nothing to list";
}

// ---- what serves

struct Serves {
  const char* name;
  const char* applications;
  const char* submitted;
  bool serves;
};
class IsServing : public ServeTable, public ::testing::WithParamInterface<Serves> {};
TEST_P(IsServing, Row) {
  rs.spec.serveConfigV2 = "applications: [{name: a}, {name: b}]";
  ray_says(GetParam().applications, GetParam().submitted);
  EXPECT_EQ(serving(), GetParam().serves);
}
#define AB R"({"applications":[{"name":"a"},{"name":"b"}]})"
INSTANTIATE_TEST_SUITE_P(
    , IsServing,
    ::testing::Values(
        Serves{"AllRun", R"({"a":{"status":"RUNNING"},"b":{"status":"RUNNING"}})", AB, true},
        Serves{"RS_03_OneIsNotListed", R"({"a":{"status":"RUNNING"}})", AB, false},
        Serves{"OneIsNotRunning", R"({"a":{"status":"RUNNING"},"b":{"status":"UNHEALTHY"}})", AB,
               false},
        Serves{"OneThatNobodyAskedForFails",
               R"({"a":{"status":"RUNNING"},"b":{"status":"RUNNING"},"c":{"status":"DELETING"}})",
               AB, false},
        Serves{
            "DeploymentsDoNotMatter",
            R"({"a":{"status":"RUNNING","deployments":{"D":{"status":"UNHEALTHY"}}},"b":{"status":"RUNNING"}})",
            AB, true},
        Serves{"InAnotherCase", R"({"a":{"status":"running"},"b":{"status":"RUNNING"}})", AB,
               false},
        Serves{"None", "{}", AB, false},
        Serves{"AnOlderConfigRuns", R"({"a":{"status":"RUNNING"},"b":{"status":"RUNNING"}})", kA,
               false},
        Serves{"AnotherCapacityOfTheSame", R"({"a":{"status":"RUNNING"},"b":{"status":"RUNNING"}})",
               R"({"applications":[{"name":"a"},{"name":"b"}],"target_capacity":3})", true}),
    [](const auto& info) { return info.param.name; });

TEST_F(ServeTable, AnAnswerFromBeforeSettlingCountsForNothing) {
  const auto at = std::chrono::duration_cast<Duration>(kNow.time_since_epoch()).count();
  answer(
      "s-a",
      fmt::format(
          R"({{"applications":{},"submitted":{{"config":{},"head":"head-uid/0","listed":true,"at":{}}}}})",
          kARuns, kA, at));
  EXPECT_FALSE(serving());
  facts["serve:s-a"].at = kNow + std::chrono::seconds{1};
  EXPECT_TRUE(serving());
}

// ---- who is asked

TEST_F(ServeTable, LongMessagesOfRayAreShortenedTheMoreOfThemThereAre) {
  const auto heard = [&](int deployments) {
    JsonObject told;
    for (int i = 0; i < deployments; ++i)
      told[fmt::format("d{}", i)] = {
          {"status", "UNHEALTHY"}, {"message", std::string(5000, 'x') + "\nRuntimeError: no GPU"}};
    const JsonObject application{
        {"status", "DEPLOY_FAILED"}, {"message", std::string(9000, 'x')}, {"deployments", told}};
    answer("s-a", dump_json(JsonObject{{"applications", {{"a", application}}}}));
    auto out = draft();
    return look_at_serve(out, seen.active).applications.at("a");
  };
  answer("s-a", R"({"applications":{"a":{"status":")" + std::string(9000, 'X') + R"("}}})");
  auto out = draft();
  EXPECT_LE(look_at_serve(out, seen.active).applications.at("a").status.size(), 128u);
  const auto one = heard(1);
  EXPECT_LE(one.message.size(), 4096u);
  const auto& message = one.serveDeploymentStatuses.at("d0").message;
  EXPECT_LE(message.size(), 4096u);
  EXPECT_THAT(message, ::testing::EndsWith("RuntimeError: no GPU"));
  std::size_t all = 0;
  for (const auto& [name, deployment] : heard(1000).serveDeploymentStatuses)
    all += deployment.message.size();
  EXPECT_LE(all, 300'000u) << "a status has room for 1.5 MiB, and holds two clusters";
}

TEST_F(ServeTable, AHeadThatIsNotReadyIsNotAsked) {
  seen.active = with_head(cluster("s-a", false));
  auto out = draft();
  EXPECT_FALSE(look_at_serve(out, seen.active).asked);
  EXPECT_THAT(out.plan.facts, ElementsAre());
  settings.status_conditions = false;  // then the Pod itself tells
  EXPECT_FALSE(look_at_serve(out, seen.active).asked);
  auto head = *seen.active.heads[0];
  head.ready = kube::ConditionView{.type = "Ready", .status = "True"};
  seen.active.heads[0] = std::make_shared<kube::PodView>(head);
  EXPECT_TRUE(look_at_serve(out, seen.active).asked);
}

TEST_F(ServeTable, WithoutADashboardOrATokenItSaysWhatIsMissing) {
  rs.spec.rayClusterConfig.authOptions = ray::AuthOptions{.mode = "token"};
  seen.active = with_head(cluster("s-a", true));
  sent();
  EXPECT_THAT(waits, ElementsAre(HasSubstr("with the token of s-a is not there")));
  seen.active.head_service = nullptr;
  sent();
  EXPECT_THAT(waits, ElementsAre(HasSubstr("the head Service of s-a is not there")));
}

// ---- the head's label: spec/05 §5.6

struct LabelTable : ServeTable {
  std::string labelled() {
    auto out = draft();
    ensure_serve_label(out, seen.active);
    asked = out.plan.facts.empty() ? "" : std::string(string_at(out.plan.facts[0].query, {"host"}));
    const auto made = writes(out.plan);
    return made.empty()
               ? ""
               : std::string(string_at(made[0].body, {"metadata", "labels", ray::kLabelServe}));
  }
  void change_head(const std::function<void(kube::PodView&)>& change) {
    auto head = *seen.active.heads[0];
    change(head);
    seen.active.heads[0] = std::make_shared<kube::PodView>(head);
  }
  std::string asked = {};
};

TEST_F(LabelTable, FollowsTheProxy) {
  answer("s-a", kRunning);
  EXPECT_EQ(labelled(), "") << "it is so already";
  EXPECT_EQ(asked, "10.0.0.1:8000");
  facts["health:s-a"].answer = JsonObject{{"healthy", false}};
  EXPECT_EQ(labelled(), "false");
  facts["health:s-a"].answer = failed(ErrorCode::Timeout, "no answer");
  EXPECT_EQ(labelled(), "false");
  facts.clear();
  EXPECT_EQ(labelled(), "") << "nobody has answered yet";
}

TEST_F(LabelTable, AnExcludedHeadIsNotAsked) {
  rs.spec.excludeHeadPodFromServeSvc = true;
  EXPECT_EQ(labelled(), "false");
  EXPECT_EQ(asked, "");
}

TEST_F(LabelTable, AHeadWithoutAnAddressIsNotHealthy) {
  change_head([](auto& head) { head.podIP.clear(); });
  EXPECT_EQ(labelled(), "false");
  EXPECT_EQ(asked, "");
}

TEST_F(LabelTable, AnIPv6AddressStandsInBrackets) {
  change_head([](auto& head) { head.podIP = "fd00::7"; });
  labelled();
  EXPECT_EQ(asked, "[fd00::7]:8000");
}

TEST_F(LabelTable, OfTwoHeadsNoneIsLabelled) {
  answer("s-a", kRunning);
  facts["health:s-a"].answer = JsonObject{{"healthy", false}};
  seen.active.heads.push_back(seen.active.heads[0]);
  EXPECT_EQ(labelled(), "");
  auto going = *seen.active.heads[0];
  going.meta.deleting = kNow;
  seen.active.heads[1] = std::make_shared<kube::PodView>(going);
  EXPECT_EQ(labelled(), "false") << "one is on its way out";
}

}  // namespace
}  // namespace manta::controllers::rayservice
