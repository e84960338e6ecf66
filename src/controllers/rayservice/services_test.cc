// What stands before the applications: made once, turned whole, and otherwise left to the user.
#include "controllers/rayservice/services.h"

#include "controllers/rayservice/testing.h"
#include "ray/names.h"

#include <gmock/gmock.h>

namespace manta::controllers::rayservice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::words;
using testing::writes;

struct ServicesTable : testing::Table {
  std::shared_ptr<ray::RayCluster> target = cluster("s-new", true);

  std::shared_ptr<const kube::ServiceView> standing(std::string name, std::string selects,
                                                    std::string address = "10.96.0.7") {
    kube::ServiceView view{
        .type = "ClusterIP",
        .clusterIP = std::move(address),
        .selector = {{std::string(ray::kLabelCluster), std::move(selects)}, {"of-old", "x"}}};
    view.meta.key = {"ns", std::move(name)};
    view.meta.uid = "svc-uid";
    view.meta.owners = {{"ray.io/v1", "RayService", "s", "s-uid", true, true}};
    return std::make_shared<kube::ServiceView>(view);
  }
  std::vector<kube::Write> ensured() {
    auto out = draft();
    ensure_services(out, target);
    return writes(out.plan);
  }
};

TEST_F(ServicesTable, BothAreMadeForTheFirstCluster) {
  auto out = draft();
  ensure_services(out, target);
  EXPECT_THAT(words(out.plan), ElementsAre("Service s-head-svc", "Service s-serve-svc"));
}

TEST_F(ServicesTable, OneThatSelectsTheTargetIsLeftAloneWhateverElseItSays) {
  seen.head_service = standing("s-head-svc", "s-new");
  seen.serve_service = standing("s-serve-svc", "s-new");
  EXPECT_THAT(ensured(), ElementsAre());
}

// Upstream replaces the spec whole. With a merge, what the user took out of his template would
// stay: an affinity, a type, a selector's key.
TEST_F(ServicesTable, OneOfAnotherClusterIsTurnedWholeAndKeepsItsAddress) {
  rs.spec.serveService = {{"spec", {{"type", "LoadBalancer"}}}};
  seen.head_service = standing("s-head-svc", "s-new");
  seen.serve_service = standing("s-serve-svc", "s-old");
  const auto made = ensured();
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].kind, kube::WriteKind::Patch);
  EXPECT_EQ(made[0].patch_type, kube::PatchType::Json);
  EXPECT_EQ(dump_json(made[0].body),
            R"([{"op":"test","path":"/metadata/uid","value":"svc-uid"},)"
            R"({"op":"replace","path":"/spec","value":{"type":"LoadBalancer",)"
            R"("selector":{"ray.io/cluster":"s-new","ray.io/serve":"true"},)"
            R"("ports":[{"name":"serve","port":8000}],"clusterIP":"10.96.0.7"}}])");
  EXPECT_EQ(made[0].done_event->note, "Updated the service ns/s-serve-svc");
}

// The API server refuses another class of a load balancer, and a cloud's webhook gave this one.
TEST_F(ServicesTable, ALoadBalancerKeepsItsClass) {
  for (const bool balances : {true, false}) {
    rs.spec.serveService = {{"spec", {{"type", balances ? "LoadBalancer" : "ClusterIP"}}}};
    seen.head_service = standing("s-head-svc", "s-new");
    auto live = *standing("s-serve-svc", "s-old");
    live.loadBalancerClass = "cloud.example/nlb";
    seen.serve_service = std::make_shared<kube::ServiceView>(live);
    const auto made = ensured();
    ASSERT_EQ(made.size(), 1u);
    EXPECT_EQ(string_at(*find(array_at(made[0].body, {}).at(1), {"value"}), {"loadBalancerClass"}),
              balances ? "cloud.example/nlb" : "");
  }
}

TEST_F(ServicesTable, AHeadlessOneStaysHeadless) {
  rs.spec.rayClusterConfig.headGroupSpec.serviceType = "NodePort";
  target = cluster("s-new", true);
  seen.head_service = standing("s-head-svc", "s-old", "None");
  seen.serve_service = standing("s-serve-svc", "s-new");
  const auto made = ensured();
  ASSERT_EQ(made.size(), 1u);
  const auto spec = *find(array_at(made[0].body, {}).at(1), {"value"});
  EXPECT_EQ(string_at(spec, {"clusterIP"}), "None");
  EXPECT_EQ(find(spec, {"type"}), nullptr) << "such a Service cannot become a NodePort";
}

TEST_F(ServicesTable, OneOfSomebodyElseIsNamedAndLeftAlone) {
  auto foreign = *standing("s-serve-svc", "theirs");
  foreign.meta.owners = {{"apps/v1", "Shop", "corner", "shop-uid", true, true}};
  seen.head_service = standing("s-head-svc", "s-new");
  seen.serve_service = std::make_shared<kube::ServiceView>(foreign);
  auto out = draft();
  ensure_services(out, target);
  EXPECT_THAT(words(out.plan), ElementsAre());
  EXPECT_THAT(out.waits, ElementsAre("Service ns/s-serve-svc belongs to Shop corner"));
}

// RC-26
TEST_F(ServicesTable, OneOfNobodyIsOursIfAnEarlierRayServiceOfTheNameMadeIt) {
  for (const auto* name : {"", "other", "s"}) {
    auto live = *standing("s-serve-svc", "theirs");
    live.meta.owners.clear();
    live.meta.labels = {{std::string(ray::kLabelOriginCrd), std::string(ray::kKindRayService)},
                        {std::string(ray::kLabelOriginCrName), name}};
    seen.head_service = standing("s-head-svc", "s-new");
    seen.serve_service = std::make_shared<kube::ServiceView>(live);
    auto out = draft();
    ensure_services(out, target);
    const bool ours = std::string_view(name) == "s";
    EXPECT_EQ(writes(out.plan).size(), ours ? 1u : 0u) << name;
    if (!ours)
      EXPECT_THAT(out.waits, ElementsAre("Service ns/s-serve-svc belongs to no RayService"));
  }
}

TEST_F(ServicesTable, WithoutAServePortTheHeadServiceIsMadeAndTheReasonTold) {
  rs.spec.rayClusterConfig.headGroupSpec.template_ = *parse_json(
      R"({"spec":{"containers":[{"name":"ray","image":"i","ports":[{"containerPort":1,"name":"other"}]}]}})");
  target = cluster("s-new", true);
  auto out = draft();
  ensure_services(out, target);
  EXPECT_THAT(words(out.plan), ElementsAre("Service s-head-svc"));
  EXPECT_THAT(out.waits, ElementsAre(HasSubstr("Please specify a port named 'serve'")));
}

TEST_F(ServicesTable, InStepsEachClusterHasItsOwnAndNobodyTouchesOneThatStands) {
  seen.pending = with_head(target);
  auto out = draft();
  EXPECT_TRUE(ensure_cluster_serve_service(out, seen.pending));
  EXPECT_THAT(words(out.plan), ElementsAre("Service s-new-serve-svc"));
  seen.pending.serve_service = standing("s-new-serve-svc", "whatever");
  auto again = draft();
  EXPECT_TRUE(ensure_cluster_serve_service(again, seen.pending));
  EXPECT_THAT(words(again.plan), ElementsAre());
}

TEST_F(ServicesTable, AGatewayThatDiffersIsReplacedWithItsOwnMetadata) {
  rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{
      .type = std::string(kIncremental),
      .clusterUpgradeOptions = ray::ClusterUpgradeOptions{.gatewayClassName = "edge"}};
  kube::SpecView gateway{
      .spec = {{"gatewayClassName", "other"},
               {"listeners", JsonArray{{{"name", "http"}, {"protocol", "HTTP"}, {"port", 80}}}}}};
  gateway.meta = {.key = {"ns", "s-gateway"}, .uid = "g", .annotations = {{"mine", "kept"}}};
  seen.gateway = std::make_shared<kube::SpecView>(gateway);
  auto out = draft();
  ensure_gateway(out);
  const auto made = writes(out.plan);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].kind, kube::WriteKind::Update);
  EXPECT_EQ(string_at(made[0].body, {"metadata", "annotations", "mine"}), "kept");
  EXPECT_EQ(string_at(made[0].body, {"spec", "gatewayClassName"}), "edge");
  gateway.meta.owners = {{"apps/v1", "Shop", "corner", "shop-uid", true, true}};
  seen.gateway = std::make_shared<kube::SpecView>(gateway);
  auto foreign = draft();
  ensure_gateway(foreign);
  EXPECT_THAT(words(foreign.plan), ElementsAre());
  EXPECT_THAT(foreign.upgrade_waits, ElementsAre("Gateway ns/s-gateway belongs to Shop corner"));
  gateway.meta.owners.clear();
  gateway.spec.as_object()["gatewayClassName"] = "edge";
  seen.gateway = std::make_shared<kube::SpecView>(gateway);
  auto same = draft();
  ensure_gateway(same);
  EXPECT_THAT(words(same.plan), ElementsAre());
}

TEST_F(ServicesTable, RS_14_WhatStandsInTheWayOfStepsIsNamed) {
  const auto trouble = [&] { return gateway_trouble(draft()).value_or(""); };
  const auto says = [](std::initializer_list<const char*> kinds) {
    JsonArray out;
    for (const auto* kind : kinds) out.push_back({{"type", kind}, {"status", "True"}});
    return out;
  };
  EXPECT_EQ(trouble(), "Gateway ns/s-gateway is not there");
  kube::SpecView gateway;
  gateway.meta.key = {"ns", "s-gateway"};
  seen.gateway = std::make_shared<kube::SpecView>(gateway);
  EXPECT_EQ(trouble(), "Gateway ns/s-gateway is not Accepted");
  gateway.status = {{"conditions", says({"Accepted", "Programmed"})}};
  seen.gateway = std::make_shared<kube::SpecView>(gateway);
  EXPECT_EQ(trouble(), "HTTPRoute ns/s-httproute is not there");
  kube::SpecView route;
  seen.route = std::make_shared<kube::SpecView>(route);
  EXPECT_EQ(trouble(), "HTTPRoute ns/s-httproute is not accepted by Gateway ns/s-gateway");
  const Json parent{{"parentRef", {{"name", "s-gateway"}}},
                    {"conditions", says({"Accepted", "ResolvedRefs"})}};
  route.status = {{"parents", JsonArray{parent}}};
  seen.route = std::make_shared<kube::SpecView>(route);
  EXPECT_EQ(trouble(), "");
}

}  // namespace
}  // namespace manta::controllers::rayservice
