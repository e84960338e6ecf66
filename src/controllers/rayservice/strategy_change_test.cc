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

struct ChangedTable : testing::StepsTable {
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
  route_to({{"s-old-serve-svc", 0}});
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
