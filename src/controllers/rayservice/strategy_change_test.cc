// The strategy is edited: what is left of the other way of upgrading follows the cluster that
// serves, and holds the one to which it still leads. RS-09
#include "controllers/rayservice/clusters.h"
#include "controllers/rayservice/testing.h"

#include <gmock/gmock.h>

namespace manta::controllers::rayservice {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kNow;
using testing::kRunning;
using ::testing::Not;
using testing::writes;

constexpr std::size_t kAll = 100;

struct ChangedTable : testing::Table {
  bool owned = true;
  ChangedTable() {
    settings.incremental_upgrade = true;
    rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{.type = "NewCluster"};
    rs.spec.rayClusterDeletionDelaySeconds = 0;
    rs.spec.rayClusterConfig.enableInTreeAutoscaling = true;
    rs.status.activeServiceStatus.rayClusterName = "s-new";
    rs.status.conditions = {{.type = "UpgradeInProgress",
                             .status = "False",
                             .lastTransitionTime = kNow - seconds{100},
                             .reason = "NoPendingCluster"}};
    seen.active = with_head(cluster("s-new", true));
    seen.clusters.push_back(cluster("s-old", true));
    seen.head_service = service_of("s-head-svc", "s-new");
    answer("s-new", kRunning);
  }
  void in_steps() {
    rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{
        .type = std::string(kIncremental),
        .clusterUpgradeOptions = ray::ClusterUpgradeOptions{.maxSurgePercent = 50,
                                                            .stepSizePercent = 25,
                                                            .intervalSeconds = 1,
                                                            .gatewayClassName = "edge"}};
    seen.active.serve_service = service_of("s-new-serve-svc", "s-new");
  }
  void owned_by_s(kube::ObjectMeta& meta) const {
    if (owned) meta.owners = {{"ray.io/v1", "RayService", "s", "s-uid", true, true}};
  }
  std::shared_ptr<kube::ServiceView> service_of(std::string name, std::string selects,
                                                Time made = {}) {
    kube::ServiceView view{.type = "ClusterIP",
                           .selector = {{std::string(ray::kLabelCluster), std::move(selects)}},
                           .ports = {{.name = "serve", .port = 8080}}};
    view.meta.key = {"ns", std::move(name)};
    view.meta.created = made;
    owned_by_s(view.meta);
    return std::make_shared<kube::ServiceView>(view);
  }
  void route_to(std::string service, int weight = kAll) {
    kube::SpecView view{
        .spec = {{"parentRefs", JsonArray{{{"name", "s-gateway"}, {"namespace", "ns"}}}},
                 {"rules", JsonArray{{{"backendRefs", JsonArray{{{"name", std::move(service)},
                                                                 {"namespace", "ns"},
                                                                 {"port", 8000},
                                                                 {"weight", weight}}}}}}}}};
    view.meta.key = {"ns", "s-httproute"};
    view.meta.uid = "route-uid";
    owned_by_s(view.meta);
    seen.route = std::make_shared<kube::SpecView>(view);
  }
  void endpoints_of(std::string service) {
    kube::EndpointSliceView slice{.ready_targets = {"pod"}};
    slice.meta.labels = {{std::string(kube::kLabelServiceName), std::move(service)}};
    seen.slices.push_back(std::make_shared<kube::EndpointSliceView>(slice));
  }
  /// "s-serve-svc:8080=100", of the route that is written.
  std::vector<std::string> routed_to() {
    std::vector<std::string> out;
    for (const auto& write : writes(make()))
      if (write.resource.kind == "HTTPRoute")
        for (const auto& backend :
             array_at(array_at(write.body, {"spec", "rules"})[0], {"backendRefs"}))
          out.push_back(std::string(string_at(backend, {"name"})) + ":" +
                        std::to_string(int_at(backend, {"port"})) + "=" +
                        std::to_string(int_at(backend, {"weight"})));
    return out;
  }
  /// Of what is turned the key tells, of what is made the body.
  std::vector<std::string> written() {
    std::vector<std::string> out;
    for (const auto& write : writes(make())) {
      const auto name = write.key.name.empty() ? kube::key_of(write.body).name : write.key.name;
      out.push_back(write.resource.kind + " " + name);
    }
    return out;
  }
  bool goes(std::string_view name) {
    auto out = draft();
    delete_dangling(out);
    return std::ranges::any_of(writes(out.plan), [&](const auto& w) { return w.key.name == name; });
  }
};

// ---- in steps, and then not

TEST_F(ChangedTable, TheRouteThatIsLeftLeadsToTheServeService) {
  seen.serve_service = service_of("s-serve-svc", "s-new");
  route_to("s-old-serve-svc");
  EXPECT_THAT(routed_to(), ElementsAre("s-serve-svc:8080=100"));
  answer("s-new", R"({"applications":{"a":{"status":"UNHEALTHY"}}})");
  EXPECT_THAT(routed_to(), ElementsAre()) << "it is turned to what serves";
}

TEST_F(ChangedTable, OnceItDoesNothingIsWritten) {
  seen.serve_service = service_of("s-serve-svc", "s-new");
  route_to("s-old-serve-svc");
  for (const auto& write : writes(make()))
    if (write.resource.kind == "HTTPRoute")
      seen.route = std::make_shared<kube::SpecView>(
          kube::SpecView{.meta = seen.route->meta, .spec = *find(write.body, {"spec"})});
  EXPECT_THAT(routed_to(), ElementsAre());
  EXPECT_TRUE(goes("s-old"));
}

TEST_F(ChangedTable, TheServiceIsTurnedFirst) {
  seen.serve_service = service_of("s-serve-svc", "s-old");
  route_to("s-old-serve-svc");
  EXPECT_THAT(written(),
              AllOf(Contains("Service s-serve-svc"), Not(Contains("HTTPRoute s-httproute"))));
}

TEST_F(ChangedTable, AServiceThatWasJustMadeHasNoEndpointsYet) {
  seen.serve_service = service_of("s-serve-svc", "s-new", kNow - seconds{1});
  route_to("s-old-serve-svc");
  EXPECT_THAT(routed_to(), ElementsAre());
  EXPECT_EQ(make().look_again.value_or(Duration{}), Duration{seconds{4}});
  endpoints_of("s-serve-svc");
  EXPECT_THAT(routed_to(), ElementsAre("s-serve-svc:8080=100"));
}

TEST_F(ChangedTable, ARouteOfSomebodyElseIsLeftAlone) {
  owned = false;
  seen.serve_service = service_of("s-serve-svc", "s-new");
  route_to("s-old-serve-svc");
  EXPECT_THAT(routed_to(), ElementsAre());
  EXPECT_TRUE(goes("s-old"));
}

TEST_F(ChangedTable, NoGatewayIsMade) {
  EXPECT_THAT(written(),
              AllOf(Not(Contains(HasSubstr("Gateway"))), Not(Contains(HasSubstr("HTTPRoute")))));
}

TEST_F(ChangedTable, AClusterToWhichTheLeftRouteLeadsStays) {
  seen.serve_service = service_of("s-serve-svc", "s-new");
  route_to("s-old-serve-svc");
  EXPECT_FALSE(goes("s-old"));
  route_to("s-old-serve-svc", 0);
  EXPECT_TRUE(goes("s-old"));
}

TEST_F(ChangedTable, WhoComesThroughTheLeftRouteCounts) {
  seen.active.serve_service = service_of("s-new-serve-svc", "s-new");
  endpoints_of("s-new-serve-svc");
  rs.status.conditions.push_back(
      {.type = "Ready", .status = "True", .reason = "NonZeroServeEndpoints"});
  const auto endpoints = [&] {
    const auto plan = make();
    return int_at(plan.status->body, {"status", "numServeEndpoints"});
  };
  EXPECT_EQ(endpoints(), 0);
  route_to("s-new-serve-svc");
  EXPECT_EQ(endpoints(), 1);
}

// ---- not in steps, and then so

TEST_F(ChangedTable, InStepsTheServeServiceThatIsLeftFollows) {
  in_steps();
  seen.serve_service = service_of("s-serve-svc", "s-old");
  EXPECT_THAT(written(), Contains("Service s-serve-svc"));
  EXPECT_FALSE(goes("s-old"));
  seen.serve_service = service_of("s-serve-svc", "s-new");
  EXPECT_THAT(written(), Not(Contains("Service s-serve-svc")));
  EXPECT_TRUE(goes("s-old"));
  seen.serve_service = nullptr;
  EXPECT_THAT(written(), Not(Contains("Service s-serve-svc"))) << "none is made";
}

TEST_F(ChangedTable, InStepsAServiceOfSomebodyElseIsLeftAlone) {
  in_steps();
  owned = false;
  seen.serve_service = service_of("s-serve-svc", "s-old");
  EXPECT_THAT(written(), Not(Contains("Service s-serve-svc")));
  EXPECT_TRUE(goes("s-old"));
}

TEST_F(ChangedTable, TheRouteGoesBackToTheClustersOnceTheirServicesAnswer) {
  in_steps();
  seen.serve_service = service_of("s-serve-svc", "s-new");
  route_to("s-serve-svc");
  seen.active.serve_service = nullptr;
  EXPECT_THAT(routed_to(), ElementsAre()) << "it is only made now";
  seen.active.serve_service = service_of("s-new-serve-svc", "s-new", kNow);
  EXPECT_THAT(routed_to(), ElementsAre());
  endpoints_of("s-new-serve-svc");
  EXPECT_THAT(routed_to(), ElementsAre("s-new-serve-svc:8000=100"));
}

TEST_F(ChangedTable, TheRouteDoesNotGoBackToWhatServesNoMore) {
  in_steps();
  rs.status.pendingServiceStatus.rayClusterName = "s-next";
  seen.pending = with_head(cluster("s-next", true));
  seen.pending.serve_service = service_of("s-next-serve-svc", "s-next");
  seen.serve_service = service_of("s-serve-svc", "s-next");
  route_to("s-serve-svc");
  answer("s-next", kRunning);
  facts.erase("serve:s-new");
  EXPECT_THAT(routed_to(), ElementsAre());
  answer("s-new", kRunning);
  EXPECT_THAT(routed_to(), Contains(HasSubstr("s-new-serve-svc")));
}

// ---- what is told

struct StandstillTable : ChangedTable {
  StandstillTable() {
    in_steps();
    rs.status.pendingServiceStatus.rayClusterName = "s-next";
    seen.pending = with_head(cluster("s-next", true));
    answer("s-next", kRunning);
  }
  std::string upgrade() {
    const auto plan = make();
    for (const auto& condition : array_at(plan.status->body, {"status", "conditions"}))
      if (string_at(condition, {"type"}) == "UpgradeInProgress")
        return std::string(string_at(condition, {"message"}));
    return {};
  }
};

TEST_F(StandstillTable, AHeadThatIsDownIsNamed) {
  EXPECT_THAT(upgrade(), Not(HasSubstr("head")));
  for (auto* side : {&seen.active, &seen.pending}) {
    const auto before = *side;
    side->cluster = cluster(before.cluster->meta.key.name, false);
    EXPECT_THAT(upgrade(),
                HasSubstr("the head of " + before.cluster->meta.key.name + " is not ready"));
    *side = before;
  }
}

TEST_F(StandstillTable, ADashboardThatDoesNotAnswerIsNamed) {
  for (const auto* name : {"s-new", "s-next"}) {
    facts[std::string("serve:") + name] = {.answer = failed(ErrorCode::Unavailable, "HTTP 503"),
                                           .at = kNow};
    EXPECT_THAT(upgrade(),
                HasSubstr(std::string("the dashboard of ") + name + " does not answer: HTTP 503"));
    answer(name, kRunning);
  }
  EXPECT_THAT(upgrade(), Not(HasSubstr("does not answer")));
}

TEST_F(StandstillTable, ZeroPercentIsNamed) {
  auto& options = *rs.spec.upgradeStrategy->clusterUpgradeOptions;
  options.stepSizePercent = 0;
  EXPECT_THAT(upgrade(), HasSubstr("stepSizePercent is 0: no traffic moves"));
  EXPECT_THAT(upgrade(), Not(HasSubstr("maxSurgePercent")));
  options.stepSizePercent = options.maxSurgePercent = 0;
  EXPECT_THAT(upgrade(), HasSubstr("maxSurgePercent is 0: no capacity moves"));
}

TEST_F(ChangedTable, SEEN_32_OfAnInvalidSpecOnlyWhatIsTrueIsTold) {
  rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{.type = "Sometimes"};
  rs.status.serviceStatus = "Running";
  const auto told = [&] {
    const auto plan = make();
    const auto* status = find(plan.status->body, {"status"});
    std::string out;
    for (const auto& condition : array_at(*status, {"conditions"}))
      if (string_at(condition, {"type"}) == "Ready") out = string_at(condition, {"message"});
    return out + "|" + std::string(string_at(*status, {"serviceStatus"}));
  };
  EXPECT_THAT(told(), HasSubstr("RayCluster s-new of the last valid spec stays as it is|Running"));
  endpoints_of("s-new-serve-svc");
  EXPECT_THAT(told(), HasSubstr("The last valid spec still serves|Running"));
  seen.active = {};
  EXPECT_THAT(told(), AllOf(HasSubstr("RayCluster s-new is gone"), Not(HasSubstr("serves")),
                            Not(HasSubstr("Running"))));
}

}  // namespace
}  // namespace manta::controllers::rayservice
