// What belongs to others costs the operator nothing: it holds none of it, and without token
// authentication and mTLS it never asks for a Secret.
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "local/apiserver/api_server.h"
#include "operator/operator.h"
#include "ray/crd.h"
#include "ray/types.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace manta {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Notes which resources are asked for, and how.
class Notary final : public kube::Api {
 public:
  explicit Notary(kube::Api& inner) : inner_(inner) {}
  Task<Result<kube::Response>> call(kube::Request request) override {
    asked.insert(request.resource.plural);
    if (request.resource.plural == refused)
      co_return failed({.code = ErrorCode::Forbidden, .message = "no", .http_status = 403});
    if (request.verb == kube::Verb::List)
      listed.insert(request.resource.plural + "?" + request.label_selector +
                    request.field_selector);
    co_return co_await inner_.call(std::move(request));
  }
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override {
    asked.insert(request.resource.plural);
    return inner_.watch(std::move(request), std::move(sink), std::move(stop));
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override {
    return inner_.raw(std::move(request));
  }

  std::string refused = {};  // no call about this resource is let through
  std::set<std::string> asked = {};
  std::set<std::string> listed = {};  // with their selectors

 private:
  kube::Api& inner_;
};

class NoRay final : public kube::Outside {
  Task<Result<Json>> call(std::string, Json) override {
    co_return failed(ErrorCode::Unavailable, "no dashboard");
  }
};

constexpr std::string_view kGroups = R"(
    rayVersion: "2.54.0"
    headGroupSpec: {template: {spec: {containers: [{name: h, image: ray}]}}}
)";

struct World {
  explicit World(bool certificates = false) {
    for (auto& crd : ray::ray_crds())
      MANTA_CHECK(
          loop.run(server.create(kube::kCustomResourceDefinitions, crd.object)).has_value());
    settings.seed = "test";
    settings.build.mtls = settings.cert_manager = certificates;
    loop.run_for(seconds{1});
  }
  ~World() { stop(); }

  void start() {
    op = std::make_unique<operator_::Operator>(loop, api, ray, random,
                                               operator_::OperatorOptions{.settings = settings});
    scope = std::make_unique<Scope>(loop);
    scope->spawn("operator", op->run(scope->stop_token()));
    loop.run_for(minutes{1});
  }
  void stop() {
    if (!scope) return;
    scope->request_stop();
    loop.run_for(minutes{10});
    scope.reset();
    op.reset();
  }
  void apply(const kube::Resource& resource, std::string_view yaml) {
    auto object = parse_yaml_one(yaml);
    MANTA_CHECK(object.has_value());
    ensure(*object, {"apiVersion"}) = resource.api_version();
    ensure(*object, {"kind"}) = resource.kind;
    auto& metadata = ensure(*object, {"metadata"}).as_object();
    if (!metadata.contains("namespace")) metadata["namespace"] = "default";
    const auto made = loop.run(server.create(resource, std::move(*object)));
    EXPECT_TRUE(made) << made.error().message;
    loop.run_for(minutes{1});
  }
  void cluster(std::string_view name, std::string_view more) {
    apply(ray::kRayClusters, fmt::format("metadata: {{name: {}}}\nspec:{}{}", name, kGroups, more));
  }
  void remove(const kube::Resource& resource, std::string name) {
    const auto gone = loop.run(server.remove(resource, {"default", std::move(name)}));
    EXPECT_TRUE(gone) << gone.error().message;
    loop.run_for(minutes{1});
  }
  Json get(const kube::Resource& resource, std::string name) {
    auto found = loop.run(server.get(resource, {"default", std::move(name)}));
    return found ? *found : Json{};
  }
  std::size_t held(const std::string& resource) const {
    const auto counts = op->held();
    const auto found = counts.find(resource);
    return found == counts.end() ? 0 : found->second;
  }
  std::string condition(std::string name, std::string_view type) {
    const auto cluster = get(ray::kRayClusters, std::move(name));
    for (const auto& condition : array_at(cluster, {"status", "conditions"}))
      if (string_at(condition, {"type"}) == type)
        return std::string(string_at(condition, {"reason"}));
    return {};
  }
  // The notes of Warning events with this reason.
  std::string warnings(std::string_view reason) {
    std::string notes;
    const auto events = loop.run(server.list(kube::kEvents, "default"));
    for (const auto& event : array_at(*events, {"items"}))
      if (string_at(event, {"reason"}) == reason)
        notes += std::string(string_at(event, {"note"})) + "\n";
    return notes;
  }
  // Of many namespaces, some with names and labels that look like ours.
  void crowd(int count) {
    for (int i = 0; i < count; ++i) {
      apply_quietly(kube::kSecrets, fmt::format("metadata: {{name: s{}, labels: {{app: x}}}}\n"
                                                "stringData: {{auth_token: t, tls.crt: c}}",
                                                i));
      apply_quietly(kube::kServices, fmt::format("metadata: {{name: web-{}, labels: {{app: x}}}}\n"
                                                 "spec: {{clusterIP: None, selector: {{app: x}}}}",
                                                 i));
      apply_quietly(kube::kEndpointSlices,
                    fmt::format("metadata: {{name: web-{0}-a, labels: "
                                "{{kubernetes.io/service-name: web-{0}}}}}\n"
                                "addressType: IPv4\nendpoints: [{{addresses: [10.1.1.1]}}]",
                                i));
      apply_quietly(
          kube::kIngresses,
          fmt::format("metadata: {{name: web-{}, labels: {{app: x}}}}\n"
                      "spec: {{defaultBackend: {{service: {{name: w, port: {{number: 80}}}}}}}}",
                      i));
    }
  }
  void apply_quietly(const kube::Resource& resource, std::string_view yaml) {
    auto object = parse_yaml_one(yaml);
    MANTA_CHECK(object.has_value());
    ensure(*object, {"apiVersion"}) = resource.api_version();
    ensure(*object, {"kind"}) = resource.kind;
    ensure(*object, {"metadata", "namespace"}) = "default";
    const auto made = loop.run(server.create(resource, std::move(*object)));
    EXPECT_TRUE(made) << made.error().message;
  }

  VirtualLoop loop;
  SeededRandom random{1};
  std::unique_ptr<local::Store> store = std::move(*local::Store::open({}));
  local::ApiServer server{loop, random, *store};
  Notary api{server};
  NoRay ray;
  controllers::Settings settings;
  std::unique_ptr<operator_::Operator> op = {};
  std::unique_ptr<Scope> scope = {};
};

TEST(ForeignObjects, PF_04_NothingOfOthersIsHeld) {
  World world;
  world.crowd(600);  // more than a page
  world.start();
  EXPECT_EQ(world.op->held(), (std::map<std::string, std::size_t>{}));

  world.cluster("c", "    authOptions: {mode: token}\n");
  world.apply(ray::kRayServices,
              fmt::format("metadata: {{name: s}}\nspec:\n  serveConfigV2: 'applications: []'\n"
                          "  rayClusterConfig: {}",
                          kGroups));
  EXPECT_FALSE(find(world.get(kube::kSecrets, "c"), {"data", "auth_token"}) == nullptr);
  EXPECT_EQ(world.held("secrets"), 1u);
  EXPECT_EQ(world.held("services"), 2u);  // the heads'
  world.apply(kube::kServices, "metadata: {name: late}\nspec: {clusterIP: None}");
  EXPECT_EQ(world.held("services"), 2u);
  EXPECT_EQ(world.held("endpointslices"), 0u);
}

TEST(ForeignObjects, PF_04_TheEndpointsOfAServeServiceAreHeldAndNoOthers) {
  World world;
  world.crowd(3);
  world.apply(kube::kServices, "metadata: {name: s-serve-svc}\nspec: {clusterIP: None}");
  world.apply(kube::kEndpointSlices,
              "metadata: {name: s-serve-svc-a, labels: {kubernetes.io/service-name: "
              "s-serve-svc}}\naddressType: IPv4\nendpoints: []");
  world.start();
  EXPECT_EQ(world.held("services"), 1u);
  EXPECT_EQ(world.held("endpointslices"), 1u);
}

// Each resource has a watch of its own, and one of them may stand still for half a minute.
TEST(ForeignObjects, EndpointsThatAreSeenBeforeTheirServiceAreHeld) {
  World world;
  world.start();
  world.apply(kube::kEndpointSlices,
              "metadata: {name: s-serve-svc-a, labels: {kubernetes.io/service-name: "
              "s-serve-svc}}\naddressType: IPv4\nendpoints: []");
  EXPECT_EQ(world.held("endpointslices"), 1u);
}

TEST(ForeignObjects, SEC_04_WithoutAuthenticationNoSecretIsAskedFor) {
  World world(/*certificates=*/true);
  world.start();
  world.cluster("c", "    enableInTreeAutoscaling: true\n");
  world.cluster("without", "    authOptions: {mode: disabled}\n");
  world.apply(
      ray::kRayJobs,
      fmt::format("metadata: {{name: j}}\nspec:\n  entrypoint: x\n  rayClusterSpec: {}", kGroups));
  world.stop();
  world.start();
  EXPECT_TRUE(world.api.asked.contains("pods"));
  EXPECT_FALSE(world.api.asked.contains("secrets"));
}

TEST(ForeignObjects, SEC_04_SecretsAreAskedForByLabelOrByNameOnly) {
  World world;
  world.apply(kube::kSecrets, "metadata: {name: mine}\nstringData: {auth_token: t}");
  world.start();
  world.cluster("a", "    authOptions: {mode: token}\n");
  world.cluster("b", "    authOptions: {mode: token, secretName: mine}\n");
  for (const auto& query : world.api.listed)
    EXPECT_TRUE(!query.starts_with("secrets") || query == "secrets?ray.io/cluster" ||
                query.starts_with("secrets?metadata.name="))
        << query;
  EXPECT_TRUE(world.api.listed.contains("secrets?ray.io/cluster"));
  EXPECT_TRUE(world.api.listed.contains("secrets?metadata.name=mine"));
  EXPECT_EQ(world.op->token_of({"default", "mine"}), "t");
}

TEST(Secrets, ThatMayNotBeReadAreNamed) {
  World world;
  world.api.refused = "secrets";
  world.start();
  world.cluster("c", "    authOptions: {mode: token}\n");
  world.cluster("plain", "");
  EXPECT_TRUE(array_at(world.get(ray::kRayClusters, "c"), {"status", "conditions"}).empty());
  EXPECT_FALSE(array_at(world.get(ray::kRayClusters, "plain"), {"status", "conditions"}).empty());
  world.loop.run_for(minutes{1});
  EXPECT_EQ(world.warnings("SecretNotReadable"),
            "The API server does not tell the operator whether Secret default/c is there; it needs "
            "the rights to list and watch Secrets, and its log has the reason\n");
  world.api.refused.clear();
  world.loop.run_for(minutes{2});
  EXPECT_FALSE(world.get(kube::kSecrets, "c").is_null()) << "and goes on when it may";
}

TEST(Secrets, AnotherInTheClustersPlaceIsSeenThoughItHasNoLabel) {
  World world;
  world.apply(kube::kSecrets, "metadata: {name: c}\nstringData: {password: p}");
  world.start();
  world.cluster("c", "    authOptions: {mode: token}\n");
  EXPECT_EQ(world.condition("c", "NameConflict"), "SecretWithoutToken");
  world.remove(kube::kSecrets, "c");
  EXPECT_EQ(world.condition("c", "NameConflict"), "");
  EXPECT_EQ(world.held("secrets"), 1u) << "ours is made in its place";
}

TEST(Secrets, OneThatIsDeletedIsMadeAgain) {
  World world;
  world.start();
  world.cluster("c", "    authOptions: {mode: token}\n");
  const auto first = world.get(kube::kSecrets, "c");
  world.remove(kube::kSecrets, "c");
  const auto second = world.get(kube::kSecrets, "c");
  EXPECT_NE(string_at(first, {"metadata", "uid"}), string_at(second, {"metadata", "uid"}));
  EXPECT_FALSE(string_at(second, {"metadata", "uid"}).empty());
}

TEST(Secrets, TheLabelTakenOffOursIsNoReasonToMakeAnother) {
  World world;
  world.start();
  world.cluster("c", "    authOptions: {mode: token}\n");
  const auto patched = world.loop.run(
      world.server.patch(kube::kSecrets, {"default", "c"}, kube::PatchType::Merge,
                         {{"metadata", {{"labels", {{"ray.io/cluster", nullptr}}}}}}));
  ASSERT_TRUE(patched);
  world.loop.run_for(minutes{1});
  EXPECT_EQ(world.held("secrets"), 1u);
  EXPECT_EQ(world.op->token_of({"default", "c"}).has_value(), true);
}

TEST(Secrets, WhatNoClusterWantsAnyMoreIsForgotten) {
  World world;
  world.apply(kube::kSecrets, "metadata: {name: mine}\nstringData: {auth_token: t}");
  world.start();
  world.cluster("a", "    authOptions: {mode: token, secretName: mine}\n");
  world.cluster("b", "    authOptions: {mode: token, secretName: mine}\n");
  EXPECT_EQ(world.held("secrets"), 1u);
  world.remove(ray::kRayClusters, "a");
  EXPECT_EQ(world.held("secrets"), 1u);
  world.remove(ray::kRayClusters, "b");
  EXPECT_EQ(world.held("secrets"), 0u);
  world.cluster("a", "    authOptions: {mode: token, secretName: mine}\n");
  EXPECT_EQ(world.op->token_of({"default", "mine"}), "t") << "and read again";
}

TEST(ForeignObjects, AServiceOfAGivenNameIsSeenThoughItCameFirst) {
  World world;
  world.apply(kube::kServices, "metadata: {name: front}\nspec: {clusterIP: None}");
  world.start();
  EXPECT_EQ(world.held("services"), 0u);
  world.apply(ray::kRayClusters, R"(
metadata: {name: c}
spec:
  headGroupSpec:
    headService: {metadata: {name: front}}
    template: {spec: {containers: [{name: h, image: ray}]}}
)");
  EXPECT_EQ(world.condition("c", "NameConflict"), "ServiceNotOwned");
  world.remove(kube::kServices, "front");
  EXPECT_EQ(
      string_at(world.get(kube::kServices, "front"), {"metadata", "labels", "ray.io/cluster"}),
      "c");
}

}  // namespace
}  // namespace manta
