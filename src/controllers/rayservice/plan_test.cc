#include "controllers/rayservice/plan.h"

#include "base/excerpt.h"
#include "controllers/rayservice/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::controllers::rayservice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kNow;
using testing::kRunning;
using testing::Table;
using testing::words;

TEST_F(Table, OfAnotherManagerNothingIsTouched) {
  rs.spec.managedBy = "kueue.x-k8s.io/multikueue";
  rs.meta.finalizers.clear();
  const auto plan = make();
  EXPECT_THAT(plan.stages, ElementsAre());
  EXPECT_FALSE(plan.status);
}

TEST_F(Table, TheFinalizerComesBeforeAll) {
  rs.meta.finalizers.clear();
  const auto plan = make();
  ASSERT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0][0].lane, "finalizer");
  EXPECT_FALSE(plan.status);
}

TEST_F(Table, TheNameIsRememberedBeforeTheClusterIsMade) {
  const auto plan = make();
  EXPECT_THAT(plan.stages, ElementsAre());
  ASSERT_TRUE(plan.status);
  EXPECT_THAT(std::string(string_at(plan.status->body,
                                    {"status", "pendingServiceStatus", "rayClusterName"})),
              HasSubstr("s-"));
}

TEST_F(Table, ANamedClusterIsMade) {
  rs.status.pendingServiceStatus.rayClusterName = "s-abcde";
  EXPECT_THAT(words(make()), ::testing::Contains("RayCluster s-abcde"));
}

TEST_F(Table, NobodyIsAskedBeforeTheHeadIsReady) {
  rs.status.pendingServiceStatus.rayClusterName = "s-abcde";
  seen.pending = with_head(cluster("s-abcde", false));
  const auto plan = make();
  EXPECT_THAT(words(plan), ElementsAre());
  ASSERT_EQ(plan.facts.size(), 1u);
  EXPECT_EQ(plan.facts[0].name, "health:s-abcde");
}

TEST_F(Table, TheConfigIsSentOnce) {
  rs.status.pendingServiceStatus.rayClusterName = "s-abcde";
  seen.pending = with_head(cluster("s-abcde", true));
  answer("s-abcde", R"({"applications":{}})");
  EXPECT_THAT(words(make()), ElementsAre("update-serve"));
  answer(
      "s-abcde",
      R"({"applications":{},"submitted":{"config":{"applications":[{"name":"a"}]},"head":"head-uid/0","listed":false,"at":1800000000000000}})");
  EXPECT_THAT(words(make()), ElementsAre()) << "Ray takes its time";
  answer(
      "s-abcde",
      R"({"applications":{},"submitted":{"config":{"applications":[{"name":"a"}]},"head":"head-uid/0","listed":true}})");
  EXPECT_THAT(words(make()), ElementsAre("update-serve")) << "Ray has lost it";
}

TEST_F(Table, ServicesComeWhenEveryApplicationRuns) {
  rs.status.pendingServiceStatus.rayClusterName = "s-abcde";
  seen.pending = with_head(cluster("s-abcde", true));
  answer("s-abcde", kRunning);
  EXPECT_THAT(words(make()), ElementsAre("Service s-head-svc", "Service s-serve-svc"));
}

TEST_F(Table, TheClusterIsPromotedWhenTheServiceSelectsIt) {
  rs.status.pendingServiceStatus.rayClusterName = "s-abcde";
  seen.pending = with_head(cluster("s-abcde", true));
  answer("s-abcde", kRunning);
  kube::ServiceView view{.selector = {{std::string(ray::kLabelCluster), "s-abcde"}}};
  seen.head_service = seen.serve_service = std::make_shared<kube::ServiceView>(view);
  const auto plan = make();
  EXPECT_THAT(words(plan), ElementsAre());
  ASSERT_TRUE(plan.status);
  const auto status = *find(plan.status->body, {"status"});
  EXPECT_EQ(string_at(status, {"activeServiceStatus", "rayClusterName"}), "s-abcde");
  EXPECT_EQ(string_at(status, {"activeServiceStatus", "applicationStatuses", "a", "status"}),
            "RUNNING");
  EXPECT_EQ(string_at(status, {"pendingServiceStatus", "rayClusterName"}), "");
}

TEST_F(Table, ASettledWorldNeedsNothing) {
  rs.status.pendingServiceStatus.rayClusterName = "s-abcde";
  seen.pending = with_head(cluster("s-abcde", true));
  answer("s-abcde", kRunning);
  kube::ServiceView view{.selector = {{std::string(ray::kLabelCluster), "s-abcde"}}};
  seen.head_service = seen.serve_service = std::make_shared<kube::ServiceView>(view);
  const auto promoted = make();
  rs.status = *ray::parse_part<ray::RayServiceStatus>(*find(promoted.status->body, {"status"}), "");
  seen.active = seen.pending;
  seen.pending = {};
  const auto plan = make();
  EXPECT_THAT(words(plan), ElementsAre());
  EXPECT_FALSE(plan.status);
}

TEST_F(Table, AClusterThatNobodyNamesGoesAfterTheDelay) {
  using std::chrono::seconds;
  rs.status.activeServiceStatus.rayClusterName = "s-abcde";
  rs.status.conditions = {{.type = "UpgradeInProgress",
                           .status = "False",
                           .lastTransitionTime = kNow - seconds{60},
                           .reason = "NoPendingCluster"}};
  seen.active = with_head(cluster("s-abcde", false));
  seen.clusters.push_back(cluster("s-older", true));
  const auto early = make();
  EXPECT_THAT(words(early), ElementsAre());
  EXPECT_EQ(early.look_again, seconds{1}) << "stored times are cut to seconds";
  rs.status.conditions[0].lastTransitionTime = kNow - seconds{61};
  const auto late = make();
  ASSERT_EQ(late.stages.size(), 1u);
  EXPECT_EQ(late.stages[0][0].kind, kube::WriteKind::Delete);
  EXPECT_EQ(late.stages[0][0].key.name, "s-older");
}

// A → B → C: B is dropped when C is made; the A before that when the upgrade to it ended.
TEST_F(Table, EachClusterCountsFromWhenItWasDropped) {
  using std::chrono::seconds;
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  rs.status.pendingServiceStatus.rayClusterName = "s-c";
  const auto made = [&](const char* name, int seconds_ago) {
    auto out = cluster(name, false);
    out->meta.created = kNow - seconds{seconds_ago};
    return out;
  };
  seen.active = with_head(made("s-a", 1000));
  seen.pending = with_head(made("s-c", 30));
  seen.clusters.push_back(made("s-b", 100));
  const auto plan = make();
  EXPECT_THAT(words(plan), ElementsAre());
  EXPECT_EQ(plan.look_again, seconds{31});
}

TEST_F(Table, ADeletedServiceDeletesItsClustersFirst) {
  rs.meta.deleting = kNow;
  rs.status.activeServiceStatus.rayClusterName = "s-abcde";
  seen.active = with_head(cluster("s-abcde", true));
  auto plan = make();
  ASSERT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0][0].kind, kube::WriteKind::Delete);
  seen.clusters.clear();
  plan = make();
  ASSERT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0][0].lane, "finalizer");
}

TEST_F(Table, AClusterOfTheReferenceKeepsItsSpec) {
  rs.status.activeServiceStatus.rayClusterName = "s-abcde";
  auto old = cluster("s-abcde", true);
  old->meta.annotations[std::string(ray::kAnnotationVersion)] = "v1.7.0";
  seen.active = with_head(old);
  const auto plan = make();
  ASSERT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0][0].kind, kube::WriteKind::Patch);
  EXPECT_EQ(find(plan.stages[0][0].body, {"spec"}), nullptr);
}

TEST_F(Table, WhatServeCannotDeployIsTold) {
  rs.status.pendingServiceStatus.rayClusterName = "s-abcde";
  rs.status.conditions = {
      {.type = "Ready", .status = "False", .reason = "Initializing"},
      {.type = "UpgradeInProgress", .status = "False", .reason = "Initializing"}};
  seen.pending = with_head(cluster("s-abcde", true));
  const auto told = [&](std::string_view status, std::string message) {
    auto fact = *parse_json(kRunning);
    fact.at("applications").at("a") = JsonObject{{"status", status}, {"message", message}};
    answer("s-abcde", dump_json(fact));
    const auto plan = make();
    std::vector<std::string> out;
    for (const auto& event : plan.events) out.push_back(event.reason + " " + event.note);
    rs.status =
        *ray::parse_part<ray::RayServiceStatus>(*find(plan.status->body, {"status"}), "status");
    out.push_back(rs.status.conditions[0].message);
    return out;
  };
  const std::string start = "RayService is initializing",
                    fails = "application a of s-abcde is DEPLOY_FAILED";
  rs.status.conditions[0].message = start;
  EXPECT_THAT(told("DEPLOYING", "on its way"), ElementsAre(start));
  EXPECT_THAT(told("DEPLOY_FAILED", ""), ElementsAre(start + ". Waiting: " + fails));
  EXPECT_THAT(told("DEPLOYING", ""), ElementsAre(start));
  EXPECT_THAT(told("DEPLOY_FAILED", "Traceback:\n  File x\nImportError: no m\n\n"),
              ElementsAre("ServeApplicationFailed " + fails + ": ImportError: no m",
                          start + ". Waiting: " + fails + ": ImportError: no m"));
  EXPECT_THAT(told("DEPLOY_FAILED", "ImportError: no n"),
              ElementsAre(start + ". Waiting: " + fails + ": ImportError: no n"));
  std::string longer = "x";
  for (int n = 0; n < 400; ++n) longer += "ä";
  EXPECT_THAT(told("DEPLOY_FAILED", longer),
              ElementsAre(start + ". Waiting: " + fails + ": " + excerpt(longer, 512)));
}

TEST_F(Table, ReplicasThatFitNowhereAreTold) {
  rs.status.pendingServiceStatus.rayClusterName = "s-abcde";
  rs.status.conditions = {{.type = "Ready", .status = "False", .reason = "Initializing"}};
  seen.pending = with_head(cluster("s-abcde", true));
  auto fact = *parse_json(kRunning);
  fact.at("applications").at("a") = *parse_json(R"({"status":"DEPLOYING","deployments":{
      "D":{"status":"UPDATING","message":"1 replicas have taken more than 30s"},
      "E":{"status":"HEALTHY","message":"as it should be"},
      "F":{"status":"UPDATING","message":""}}})");
  answer("s-abcde", dump_json(fact));
  const auto plan = make();
  ASSERT_TRUE(plan.status);
  const auto& ready = array_at(plan.status->body, {"status", "conditions"})[0];
  EXPECT_EQ(string_at(ready, {"message"}),
            "RayService is initializing. Waiting: deployment D of application a: 1 replicas have "
            "taken more than "
            "30s");
}

TEST_F(Table, WhatABlockedClusterWasLikeIsKept) {
  rs.status.activeServiceStatus.rayClusterName = "s-abcde";
  rs.status.activeServiceStatus.applicationStatuses["a"] = {.status = "RUNNING"};
  rs.status.conditions = {{.type = "Ready", .status = "False", .reason = "ZeroServeEndpoints"}};
  seen.active = with_head(cluster("s-abcde", true));
  facts["serve:s-abcde"] = {.answer = failed(ErrorCode::Unavailable, "HTTP 503"), .at = kNow};
  const auto plan = make();
  ASSERT_TRUE(plan.status);
  const auto status = *find(plan.status->body, {"status"});
  EXPECT_EQ(string_at(status, {"activeServiceStatus", "applicationStatuses", "a", "status"}),
            "RUNNING");
  EXPECT_THAT(dump_json(status), HasSubstr("HTTP 503"));
}

}  // namespace
}  // namespace manta::controllers::rayservice
