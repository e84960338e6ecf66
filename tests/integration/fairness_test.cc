// A large cluster does not delay a small one. Counted in writes, not in time.
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;

TEST(Fairness, AClusterOf500PodsDoesNotDelayAnother) {
  World world({.start_operator = false});
  world.apply(kCluster).patch("RayCluster", "c", fmt::format(fmt::runtime(kGroup), 500));
  std::string small = kCluster;
  small.replace(small.find("{name: c}"), 9, "{name: small}");
  world.start_operator().run_until({"the large one is under way", [](const World& w) {
                                      return w.mirror().created("Pod") >= 50;
                                    }});
  const auto before = world.writes().size();
  world.apply(small).run_until({"the small one has its Pods",
                                [](const World& w) { return w.workers("small").size() == 2; }});
  const auto& writes = world.writes();
  std::size_t others = 0;
  for (auto at = before; at < writes.size(); ++at)
    others += writes[at].kind == "Pod" && writes[at].key.name.starts_with("c-");
  // Three stages (Service, head, workers), in each of which the large one has 16 in flight.
  EXPECT_LE(others, 4u * 16u);
  EXPECT_LT(world.workers("c").size(), 400u) << "the large one was not finished first";
  world.run_until(has_workers("c", 500), 1h).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 504);
}

}  // namespace
}  // namespace manta::integration
