#include "sim/gateway_double.h"

#include "controllers/rayservice/gateway_api.h"
#include "sim/world.h"

#include <gtest/gtest.h>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;
using controllers::rayservice::kGateways;
using controllers::rayservice::kHttpRoutes;

struct GatewayDoubleTest : testing::Test {
  void make(const kube::Resource& resource, Json spec) {
    const Json object{{"apiVersion", resource.api_version()},
                      {"kind", resource.kind},
                      {"metadata", {{"name", "g"}, {"namespace", "default"}}},
                      {"spec", std::move(spec)}};
    ASSERT_TRUE(world.loop().run(world.server().create(resource, object)).has_value());
  }
  void make_both() {
    make(kGateways,
         {{"gatewayClassName", "edge"},
          {"listeners", JsonArray{{{"name", "l"}, {"port", 80}, {"protocol", "HTTP"}}}}});
    make(kHttpRoutes, {{"parentRefs", JsonArray{{{"name", "g"}}}}});
  }
  std::string programmed() const { return condition_of(world.get("Gateway", "g"), "Programmed"); }
  std::string accepted() const {
    const auto& parents = array_at(world.get("HTTPRoute", "g"), {"status", "parents"});
    if (parents.size() != 1) return "of no Gateway";
    EXPECT_EQ(string_at(parents.at(0), {"parentRef", "name"}), "g");
    const Json route{{"status", parents.at(0)}};
    return condition_of(route, "Accepted");
  }

  World world{{.start_operator = false, .gateway_api = true}};
};

TEST_F(GatewayDoubleTest, ItTakesWhatComesASecondLater) {
  make_both();
  EXPECT_EQ(programmed(), "");
  EXPECT_EQ(accepted(), "of no Gateway");
  world.pass(2s);
  EXPECT_EQ(programmed(), "True Programmed");
  EXPECT_EQ(accepted(), "True Accepted");
}

TEST_F(GatewayDoubleTest, WhileItIsDownNothingIsTaken) {
  make_both();
  world.pass(2s);
  world.gateways()->set_up(false);
  world.pass(2s);
  EXPECT_EQ(programmed(), "False Programmed");
  EXPECT_EQ(accepted(), "False Accepted");
  world.gateways()->set_up(true);
  world.pass(2s);
  EXPECT_EQ(programmed(), "True Programmed");
  EXPECT_EQ(accepted(), "True Accepted");
}

}  // namespace
}  // namespace manta::sim
