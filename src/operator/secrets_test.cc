#include "operator/secrets.h"

#include "base/virtual_loop.h"
#include "base/yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

using std::chrono::seconds;

Json object(std::string_view yaml) {
  auto parsed = parse_yaml_one(yaml);
  MANTA_CHECK(parsed.has_value());
  return *parsed;
}

// Answers lists of Secrets, of all that match, and keeps watches open; refuses all while silent.
struct SecretsApi final : kube::Api {
  Task<Result<kube::Response>> call(kube::Request request) override {
    EXPECT_EQ(request.resource.plural, "secrets");
    EXPECT_EQ(request.verb, kube::Verb::List);
    lists.insert(request.namespace_ + "?" + request.label_selector + request.field_selector);
    if (silent) co_return failed({.code = ErrorCode::Forbidden, .http_status = 403});
    JsonArray items;
    for (const auto& secret : secrets) {
      const auto name = string_at(secret, {"metadata", "name"});
      const bool labelled = find(secret, {"metadata", "labels", "ray.io/cluster"});
      if (request.field_selector.empty()
              ? labelled
              : request.field_selector == fmt::format("metadata.name={}", name))
        items.push_back(secret);
    }
    co_return kube::Response{
        .body = {{"metadata", {{"resourceVersion", "9"}}}, {"items", std::move(items)}}};
  }
  Task<Result<void>> watch(kube::WatchRequest, WatchSink, std::stop_token stop) override {
    OneShot<bool> stopped(loop);
    const std::stop_callback on_stop(stop, [stopped] { stopped.set(true); });
    co_await stopped;
    co_return Result<void>{};
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest) override { co_return kube::RawResponse{}; }

  explicit SecretsApi(Loop& l) : loop(l) {}
  Loop& loop;
  bool silent = false;
  std::vector<Json> secrets = {};
  std::set<std::string> lists = {};
};

struct SecretsTest : testing::Test {
  void start(bool certificates = false) {
    secrets.emplace("", clusters, certificates);
    secrets->on_known([this](const kube::ObjectKey& cluster) { told += cluster.name + " "; });
    scope.spawn("secrets", secrets->run(loop, api, random, scope.stop_token()));
    loop.run_for(seconds{1});
  }
  void TearDown() override {
    scope.request_stop();
    loop.run_for(seconds{60});
  }
  void cluster(std::string_view name, std::string_view spec, int revision = 1) {
    clusters.observe(object(
        fmt::format("metadata: {{name: {0}, namespace: n, uid: {0}-uid, resourceVersion: '{1}'}}\n"
                    "spec: {{headGroupSpec: {{template: {{}}}}, {2}}}\n",
                    name, revision, spec)));
    loop.run_for(seconds{1});
  }
  void exists(std::string_view name, std::string_view more = "") {
    api.secrets.push_back(object(
        fmt::format("metadata: {{name: {0}, namespace: n, uid: {0}-uid, resourceVersion: '5'{1}}}\n"
                    "data: {{auth_token: dA==}}\n",
                    name, more)));
  }

  VirtualLoop loop;
  SeededRandom random{1};
  SecretsApi api{loop};
  kube::Cache<ray::RayCluster> clusters{ray::kRayClusters, ray::parse_ray_cluster};
  std::optional<Secrets> secrets = {};
  Scope scope{loop};
  std::string told = {};
};

constexpr const char* kToken = "authOptions: {mode: token}";
constexpr const char* kOwnToken = "authOptions: {mode: token, secretName: mine}";
constexpr const char* kTls = "tlsOptions: {enabled: true}";

TEST_F(SecretsTest, NothingIsAskedForUntilAClusterWantsOne) {
  start();
  cluster("c", "rayVersion: '2.54.0'");
  cluster("t", kTls);  // without cert-manager
  EXPECT_TRUE(api.lists.empty());
  EXPECT_TRUE(secrets->known_to({"n", "c"}));
}

TEST_F(SecretsTest, OursIsFoundByItsLabel) {
  exists("c", ", labels: {ray.io/cluster: c}");
  start();
  cluster("c", kToken);
  EXPECT_EQ(api.lists, (std::set<std::string>{"?ray.io/cluster"}));
  ASSERT_NE(secrets->get({"n", "c"}), nullptr);
  EXPECT_TRUE(secrets->known_to({"n", "c"}));
  EXPECT_EQ(told, "c ");
}

TEST_F(SecretsTest, AUsersIsFollowedByNameAndOthersAreNotHeld) {
  exists("mine");
  exists("other");
  start();
  cluster("c", kOwnToken);
  EXPECT_EQ(api.lists, (std::set<std::string>{"?ray.io/cluster", "n?metadata.name=mine"}));
  ASSERT_NE(secrets->get({"n", "mine"}), nullptr);
  EXPECT_EQ(secrets->get({"n", "mine"})->auth_token, "t");
  EXPECT_EQ(secrets->get({"n", "other"}), nullptr);
  EXPECT_FALSE(secrets->known({"n", "other"})) << "nobody wants it";
}

TEST_F(SecretsTest, OneThatIsMissingIsKnownToBe) {
  start();
  cluster("c", kOwnToken);
  EXPECT_EQ(secrets->get({"n", "mine"}), nullptr);
  EXPECT_TRUE(secrets->known_to({"n", "c"}));
  EXPECT_FALSE(secrets->overdue({"n", "c"}, loop.now() + std::chrono::hours{1}));
}

TEST_F(SecretsTest, WhatTheServerDoesNotTellIsOverdue) {
  api.silent = true;
  start();
  cluster("c", kToken);
  EXPECT_FALSE(secrets->known_to({"n", "c"}));
  EXPECT_FALSE(secrets->overdue({"n", "c"}, loop.now()));
  loop.run_for(seconds{40});
  const auto overdue = secrets->overdue({"n", "c"}, loop.now());
  ASSERT_TRUE(overdue);
  EXPECT_EQ(overdue->name, "c");
  api.silent = false;
  loop.run_for(seconds{60});
  EXPECT_TRUE(secrets->known_to({"n", "c"}));
  EXPECT_FALSE(secrets->overdue({"n", "c"}, loop.now()));
}

TEST_F(SecretsTest, WhatNobodyWantsAnyMoreIsLetGo) {
  exists("mine");
  start();
  cluster("a", kOwnToken);
  cluster("b", kOwnToken);
  EXPECT_EQ(secrets->wanted_by({"n", "mine"}).size(), 2u);
  cluster("a", "authOptions: {mode: disabled}", 2);
  EXPECT_NE(secrets->get({"n", "mine"}), nullptr);
  clusters.observe_gone({"n", "b"}, "b-uid", 3);
  EXPECT_EQ(secrets->get({"n", "mine"}), nullptr);
  EXPECT_TRUE(secrets->wanted_by({"n", "mine"}).empty());
}

TEST_F(SecretsTest, CertificatesComeInThree) {
  start(/*certificates=*/true);
  cluster("c", kTls);
  EXPECT_EQ(api.lists,
            (std::set<std::string>{"?ray.io/cluster", "n?metadata.name=c-ca-secret-c-uid",
                                   "n?metadata.name=ray-head-secret-c",
                                   "n?metadata.name=ray-worker-secret-c"}));
}

}  // namespace
}  // namespace manta::operator_
