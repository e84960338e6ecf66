// Stories of RayServices.
#include "service_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(RayServiceStory, FromNothingToServingToGone) {
  ServiceWorld world;
  world.deploy(kService);
  EXPECT_EQ(world.behind("s-serve-svc"), world.active());
  EXPECT_EQ(world.behind("s-head-svc"), world.active());
  EXPECT_EQ(int_at(world.service(), {"status", "numServeEndpoints"}), 2);
  EXPECT_EQ(string_at(world.service(), {"status", "serviceStatus"}), "Running");
  EXPECT_EQ(world.serve().sent().size(), 1u);
  world.settle();
  world.expect_rest();
  world.remove("RayService", "s").run_until(is_gone("RayService", "s")).settle();
  EXPECT_THAT(world.clusters(), ElementsAre());
}

TEST(RayServiceStory, AChangedConfigGoesToTheSameCluster) {
  ServiceWorld world;
  world.deploy(kService);
  const auto cluster = world.active();
  world.set_config("applications: [{name: a, import_path: 'm:two', route_prefix: /}]");
  world.settle();
  EXPECT_EQ(world.active(), cluster);
  ASSERT_EQ(world.serve().sent().size(), 2u);
  EXPECT_THAT(dump_json(world.serve().sent().back().config), HasSubstr("m:two"));
}

TEST(RayServiceStory, TheSameConfigInOtherWordsIsNotSent) {
  ServiceWorld world;
  world.deploy(kService);
  world.set_config(
      "# a comment\napplications:\n- route_prefix: /\n  import_path: m:a\n  name: a\n");
  world.settle();
  EXPECT_EQ(world.serve().sent().size(), 1u);
}

TEST(RayServiceStory, AChangedClusterIsReplaced) {
  ServiceWorld world;
  world.deploy(kService);
  const auto old = world.active();
  world.set_image("two").run_until(
      {"both are there", [&](const World&) { return world.clusters().size() == 2; }});
  EXPECT_EQ(world.behind("s-serve-svc"), old);
  world.run_until(upgraded("s"));
  EXPECT_NE(world.active(), old);
  EXPECT_EQ(world.behind("s-serve-svc"), world.active());
  EXPECT_EQ(world.behind("s-head-svc"), world.active());
  EXPECT_THAT(world.clusters(), Contains(old));
  world.pass(55s);
  EXPECT_THAT(world.clusters(), Contains(old)) << "requests may still be on their way";
  world.pass(10s);
  EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
  world.settle();
}

TEST(RayServiceStory, TrafficStaysUntilTheNewClusterServes) {
  ServiceWorld world;
  world.deploy(kService);
  const auto old = world.active();
  world.serve().says["a"] = "DEPLOYING";
  world.set_image("two").pass(10min);
  EXPECT_EQ(world.behind("s-serve-svc"), old);
  EXPECT_EQ(world.active(), old);
  world.serve().says.clear();
  world.run_until(upgraded("s")).settle();
  EXPECT_EQ(world.behind("s-serve-svc"), world.active());
}

TEST(RayServiceStory, ASpecThatChangesAgainDropsTheClusterThatNeverServed) {
  ServiceWorld world;
  world.deploy(kService);
  const auto old = world.active();
  world.serve().says["a"] = "DEPLOYING";
  world.set_image("two").pass(30s);
  const auto second = world.pending();
  world.set_image("three").pass(30s);
  EXPECT_NE(world.pending(), second);
  EXPECT_EQ(world.active(), old);
  world.serve().says.clear();
  world.run_until(upgraded("s")).pass(70s).settle();
  EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
}

TEST(RayServiceStory, AnUpgradeRightAfterAnotherProlongsNoDelay) {
  ServiceWorld world;
  world.deploy(kService);
  const auto first = world.active();
  const auto another = [&](const char* image) {
    const auto old = world.active();
    world.set_image(image).run_until(
        {"another is active", [&](const World&) { return world.active() != old; }});
  };
  another("two");
  world.pass(30s).crash();
  const auto second = world.active();
  another("three");
  EXPECT_THAT(world.clusters(), Contains(first));
  world.pass(33s);  // 63 since it was dropped, and what the second upgrade took
  EXPECT_THAT(world.clusters(), testing::Not(Contains(first)));
  EXPECT_THAT(world.clusters(), Contains(second));
  world.pass(40s).settle();
  EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
}

TEST(RayServiceStory, StrategyNoneLeavesTheClusterAlone) {
  ServiceWorld world;
  world.deploy(std::string(kService) + "  upgradeStrategy: {type: None}\n");
  const auto cluster = world.active();
  world.set_image("two").pass(5min).settle();
  EXPECT_EQ(world.active(), cluster);
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
}

TEST(RayServiceStory, AddedWorkerGroupsAreAddedToTheRunningCluster) {
  ServiceWorld world;
  world.deploy(kService);
  const auto cluster = world.active();
  world.patch("RayService", "s", R"({spec: {rayClusterConfig: {workerGroupSpecs: [
    {groupName: g, replicas: 1, minReplicas: 0, maxReplicas: 10, rayStartParams: {},
     template: {spec: {containers: [{name: w, image: ray}]}}},
    {groupName: h, replicas: 2, minReplicas: 0, maxReplicas: 10, rayStartParams: {},
     template: {spec: {containers: [{name: w, image: ray}]}}}]}}})");
  world.run_until(has_workers(cluster, 3)).settle();
  EXPECT_EQ(world.active(), cluster);
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  EXPECT_THAT(world.events("s"), Contains(HasSubstr("UpdatedRayCluster")));
}

TEST(RayServiceStory, SuspendedAndResumed) {
  ServiceWorld world;
  world.deploy(kService);
  const auto old = world.active();
  world.patch("RayService", "s", "{spec: {suspend: true}}")
      .run_until(has_condition("s", "Suspended", "True SuspendComplete"))
      .settle();
  EXPECT_THAT(world.clusters(), ElementsAre());
  EXPECT_EQ(world.mirror().find("Service", "s-serve-svc"), nullptr);
  EXPECT_EQ(world.mirror().find("Service", "s-head-svc"), nullptr);
  world.patch("RayService", "s", "{spec: {suspend: false}}").run_until(service_serves("s"));
  EXPECT_NE(world.active(), old);
  world.settle();
}

TEST(RayServiceStory, BornSuspendedMakesNothing) {
  ServiceWorld world;
  world.apply(std::string(kService) + "  suspend: true\n")
      .run_until(has_condition("s", "Suspended", "True SuspendComplete"))
      .settle();
  EXPECT_EQ(world.mirror().created("RayCluster"), 0);
}

TEST(RayServiceStory, TheActiveClusterIsDeletedByHand) {
  ServiceWorld world;
  world.deploy(kService);
  const auto old = world.active();
  world.remove("RayCluster", old).run_until({"another serves", [&](const World&) {
                                               return world.active() != old &&
                                                      world.pending().empty();
                                             }});
  world.run_until(service_serves("s")).settle();
  EXPECT_EQ(world.behind("s-serve-svc"), world.active());
}

TEST(RayServiceStory, TheHeadsLabelFollowsItsProxy) {
  ServiceWorld world;
  world.deploy(kService);
  const auto head = world.head(world.active());
  EXPECT_EQ(label_of(world.get("Pod", head), "ray.io/serve"), "true");
  world.serve().unhealthy.insert(head);
  world.pass(5s);
  EXPECT_EQ(label_of(world.get("Pod", head), "ray.io/serve"), "false");
  world.serve().unhealthy.clear();
  world.pass(5s);
  EXPECT_EQ(label_of(world.get("Pod", head), "ray.io/serve"), "true");
  world.settle();
}

TEST(RayServiceStory, AnUpgradeInStepsThroughAGateway) {
  ServiceWorld world;
  world.serve_gateway_api();
  world.deploy(kIncrementalService);
  const auto old = world.active();
  EXPECT_THAT(world.weights(), ElementsAre(std::pair(old, 100)));
  std::vector<std::map<std::string, std::int64_t>> steps;
  world.set_image("two").run_until({"all traffic has moved", [&](const World&) {
                                      auto now = world.weights();
                                      if (steps.empty() || steps.back() != now)
                                        steps.push_back(std::move(now));
                                      return world.active() != old;
                                    }});
  for (const auto& step : steps) {
    std::int64_t sum = 0;
    for (const auto& [cluster, weight] : step) sum += weight;
    EXPECT_EQ(sum, 100);
  }
  EXPECT_THAT(steps, SizeIs(testing::Ge(3u)));
  world.run_until(upgraded("s")).pass(70s).settle();
  EXPECT_THAT(world.weights(), ElementsAre(std::pair(world.active(), 100)));
  EXPECT_EQ(world.capacity("active"), 100);
  EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
}

TEST(RayServiceStory, ARollbackInTheMiddleOfAnUpgrade) {
  ServiceWorld world;
  world.serve_gateway_api();
  world.deploy(kIncrementalService);
  const auto old = world.active();
  world.set_image("two").run_until({"half of the traffic has moved", [&](const World&) {
                                      const auto weights = world.weights();
                                      return weights.size() == 2 && weights.at(old) == 50;
                                    }});
  world.set_image("one").run_until(
      {"back at the old one", [&](const World&) { return world.pending().empty(); }});
  EXPECT_EQ(world.active(), old);
  world.pass(70s).settle();
  EXPECT_THAT(world.weights(), ElementsAre(std::pair(old, 100)));
  EXPECT_EQ(world.capacity("active"), 100);
  EXPECT_THAT(world.clusters(), ElementsAre(old));
  EXPECT_EQ(world.condition("RollbackInProgress"), "");
}

TEST(RayServiceStory, AClusterThatIsTakenBackGetsNoConfigThatCameWithTheEdit) {
  ServiceWorld world;
  world.serve_gateway_api();
  world.deploy(kIncrementalService);
  const auto old = world.active();
  world.begin_upgrade("two");
  const auto dropped = world.pending();
  world.patch("RayService", "s", R"({spec: {
    serveConfigV2: "applications: [{name: a, import_path: 'm:new', route_prefix: /}]",
    rayClusterConfig: {headGroupSpec: {template: {spec: {containers: [
      {name: ray-head, image: three, resources: {limits: {cpu: '1', memory: 2Gi}}}]}}}}}})");
  world.run_until({"the third is active", [&](const World&) {
                     return world.active() != old && world.active() != dropped;
                   }});
  world.settle();
  std::set<std::string> told;
  for (const auto& sent : world.serve().sent())
    if (dump_json(sent.config).find("m:new") != std::string::npos) told.insert(sent.service);
  EXPECT_EQ(told, (std::set<std::string>{old + "-head-svc", world.active() + "-head-svc"}));
}

TEST(RayServiceStory, ARestartOfTheOperatorInMidUpgradeKeepsTheOldConfigOnTheOldCluster) {
  ServiceWorld world;
  world.serve_gateway_api();
  world.deploy(kIncrementalService);
  const auto old = world.active();
  world.set_config("applications: [{name: a, import_path: 'm:two', route_prefix: /}]");
  world.settle();
  world.patch("RayService", "s", R"({spec: {
    serveConfigV2: "applications: [{name: a, import_path: 'm:three', route_prefix: /}]",
    rayClusterConfig: {rayVersion: 2.55.0}}})");
  world.run_until({"both are there", [&](const World&) { return world.clusters().size() == 2; }});
  world.crash().run_until(upgraded("s")).settle();
  for (const auto& sent : world.serve().sent())
    if (sent.service == old + "-head-svc") {
      EXPECT_THAT(dump_json(sent.config), testing::Not(HasSubstr("m:three")));
    }
}

}  // namespace
}  // namespace manta::integration
