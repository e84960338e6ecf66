#include "controllers/rayservice/status.h"

#include "controllers/rayservice/testing.h"

namespace manta::controllers::rayservice {
namespace {

struct StatusTable : testing::Table {
  StatusTable() {
    rs.status.activeServiceStatus.rayClusterName = "s-a";
    rs.status.observedGeneration = 1;
  }
  /// Whether a plan that changes the status like this writes it.
  template <typename Change>
  bool writes_after(Change change) {
    auto out = draft();
    change(out.status);
    plan_status(out);
    return out.plan.status.has_value();
  }
  void slice(std::string service, std::vector<std::string> ready) {
    kube::EndpointSliceView view{.ready_targets = std::move(ready)};
    view.meta.labels = {{std::string(kube::kLabelServiceName), std::move(service)}};
    seen.slices.push_back(std::make_shared<kube::EndpointSliceView>(view));
  }
  static std::shared_ptr<const kube::ServiceView> named(std::string name) {
    kube::ServiceView view;
    view.meta.key = {"ns", std::move(name)};
    return std::make_shared<kube::ServiceView>(view);
  }
};

// ---- when a status is worth a write: spec/05 §9.6

TEST_F(StatusTable, WhatUsersReadIsWrittenWhenItChanges) {
  EXPECT_FALSE(writes_after([](auto&) {}));
  EXPECT_TRUE(writes_after([](auto& s) { s.serviceStatus = "Running"; }));
  EXPECT_TRUE(writes_after([](auto& s) { s.numServeEndpoints = 1; }));
  EXPECT_TRUE(writes_after([](auto& s) { s.conditions.push_back({.type = "Ready"}); }));
  EXPECT_TRUE(writes_after([](auto& s) { s.pendingServiceStatus.rayClusterName = "s-b"; }));
  EXPECT_TRUE(writes_after([](auto& s) { s.activeServiceStatus.rayClusterName.clear(); }));
  EXPECT_TRUE(writes_after(
      [](auto& s) { s.activeServiceStatus.applicationStatuses["a"].status = "RUNNING"; }));
  EXPECT_TRUE(writes_after([](auto& s) {
    s.activeServiceStatus.applicationStatuses["a"].serveDeploymentStatuses["D"].message = "m";
  }));
  EXPECT_TRUE(writes_after([](auto& s) { s.pendingServiceStatus.targetCapacity = 0; }));
  EXPECT_TRUE(writes_after([](auto& s) { s.activeServiceStatus.trafficRoutedPercent = 100; }));
}

TEST_F(StatusTable, WhatIsCopiedFromTheClusterComesAlongWithSomethingElse) {
  const auto copies = [](auto& s) {
    s.activeServiceStatus.rayClusterStatus.state = "ready";
    s.observedGeneration = 2;
  };
  EXPECT_FALSE(writes_after(copies));
  settings.service_gates.fresh_status = true;  // SEEN-33
  EXPECT_TRUE(writes_after(copies));
}

// Upstream writes on every pass then, so what it copied is never old.
TEST_F(StatusTable, InStepsTheCopiesAreFresh) {
  rs.status.activeServiceStatus.targetCapacity = 100;
  EXPECT_FALSE(writes_after([](auto&) {})) << "but not for the sake of the time";
  EXPECT_TRUE(writes_after([](auto& s) { s.observedGeneration = 2; }));
  EXPECT_TRUE(
      writes_after([](auto& s) { s.pendingServiceStatus.rayClusterStatus.state = "ready"; }));
}

TEST_F(StatusTable, AWriteSaysWhen) {
  auto out = draft();
  out.status.serviceStatus = "Running";
  plan_status(out);
  ASSERT_TRUE(out.plan.status);
  EXPECT_EQ(string_at(out.plan.status->body, {"status", "lastUpdateTime"}),
            format_rfc3339(testing::kNow));
}

// ---- endpoints: spec/05 §9.2

TEST_F(StatusTable, AnEndpointWithTwoAddressesCountsOnce) {
  slice("s-serve-svc", {"pod-1", "pod-2"});
  slice("s-serve-svc", {"pod-2", "pod-3"});
  slice("other-svc", {"pod-4"});
  EXPECT_EQ(count_endpoints(draft()), 3);
}

TEST_F(StatusTable, AServiceNamedByTheUserCounts) {
  rs.spec.serveService = {{"metadata", {{"name", "front"}}}};
  slice("front", {"pod-1"});
  slice("s-serve-svc", {"pod-2"});
  EXPECT_EQ(count_endpoints(draft()), 1);
}

TEST_F(StatusTable, InStepsBothClustersCount) {
  rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{.type = std::string(kIncremental)};
  seen.active = with_head(cluster("s-a", true));
  seen.pending = with_head(cluster("s-b", true));
  seen.active.serve_service = named("s-a-serve-svc");
  seen.pending.serve_service = named("s-b-serve-svc");
  slice("s-a-serve-svc", {"pod-1"});
  slice("s-b-serve-svc", {"pod-2", "pod-3"});
  slice("s-serve-svc", {"pod-4"});
  EXPECT_EQ(count_endpoints(draft()), 3);
}

TEST_F(StatusTable, WhatABlockedClusterWasLikeStays) {
  auto made = cluster("s-a", true);
  made->status.state = "ready";
  seen.active = with_head(made);
  rs.status.activeServiceStatus.applicationStatuses["a"].status = "RUNNING";
  auto out = draft();
  out.block("s-a");
  tell_clusters(out, {}, {});
  EXPECT_EQ(out.status.activeServiceStatus.applicationStatuses.at("a").status, "RUNNING");
  EXPECT_EQ(out.status.activeServiceStatus.rayClusterStatus.state, "");
  auto free = draft();
  tell_clusters(free, {}, {});
  EXPECT_TRUE(free.status.activeServiceStatus.applicationStatuses.empty());
  EXPECT_EQ(free.status.activeServiceStatus.rayClusterStatus.state, "ready");
}

}  // namespace
}  // namespace manta::controllers::rayservice
