// A RayService whose upgradeStrategy is edited: who comes by the other way is served on. RS-09
#include "service_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

Until active_is_not(const ServiceWorld& world, std::string old) {
  return {"another cluster is active",
          [&world, old = std::move(old)](const World&) { return world.active() != old; }};
}

// Gateway options and the autoscaler stay in the spec, as after a user's edit of one field.
void set_strategy(ServiceWorld& world, std::string_view type) {
  world.merge("RayService", "s", JsonObject{{"spec", {{"upgradeStrategy", {{"type", type}}}}}});
}

void expect_the_route_leads_to_the_serve_service(ServiceWorld& world) {
  EXPECT_THAT(world.weights(), ElementsAre(std::pair("s", 100)));
  EXPECT_EQ(world.behind("s-serve-svc"), world.active());
  EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
}

TEST(RayServiceStrategy, OutOfStepsTheRouteFollowsTheNextUpgrade) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  const auto old = world.active();
  set_strategy(world, "NewCluster");
  world.set_image("two").run_until(active_is_not(world, old)).pass(90s).settle();
  expect_the_route_leads_to_the_serve_service(world);
  EXPECT_EQ(world.condition("Ready"), "True NonZeroServeEndpoints");
}

TEST(RayServiceStrategy, OutOfStepsInMidUpgradeTheRouteLeavesTheOldCluster) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  const auto old = world.active();
  world.begin_upgrade("two");
  set_strategy(world, "None");
  world.run_until(active_is_not(world, old)).pass(90s).settle();
  expect_the_route_leads_to_the_serve_service(world);
}

TEST(RayServiceStrategy, IntoStepsTheServeServiceFollowsTheNextUpgrade) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(kIncrementalService);
  set_strategy(world, "NewCluster");
  world.pass(20s);
  ASSERT_EQ(world.behind("s-serve-svc"), world.active());
  const auto old = world.active();
  set_strategy(world, "NewClusterWithIncrementalUpgrade");
  world.pass(20s);
  EXPECT_THAT(world.weights(), ElementsAre(std::pair(old, 100)));
  world.set_image("two").run_until(active_is_not(world, old)).pass(90s).settle();
  EXPECT_EQ(world.behind("s-serve-svc"), world.active());
  EXPECT_THAT(world.weights(), ElementsAre(std::pair(world.active(), 100)));
  EXPECT_THAT(world.clusters(), ElementsAre(world.active()));
}

}  // namespace
}  // namespace manta::integration
