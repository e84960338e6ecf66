// What the operator sees comes late, twice, out of order, or breaks off: it ends where it would
// have ended, and makes nothing twice on the way.
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using kube::EventFault;

const EventFault kFaults[] = {EventFault::Duplicate, EventFault::Delay, EventFault::End,
                              EventFault::Break, EventFault::Expire};

class DisturbedWatch : public testing::TestWithParam<EventFault> {};

void live(World& world) {
  world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h);
  world.patch("RayCluster", "c", fmt::format(fmt::runtime(kGroup), 4))
      .run_until(has_workers("c", 4), 1h);
  world.kubelet().fail(world.workers("c").at(0));
  world.settle();
  world.apply(kJob).run_until(job_is("j", "Complete"), 1h).settle();
}

TEST_P(DisturbedWatch, ChangesNothing) {
  std::vector<std::string> wanted;
  int pods = 0;
  {
    World calm({.jobs_take = 20s});
    live(calm);
    wanted = calm.picture();
    pods = calm.mirror().created("Pod");
  }
  for (const std::uint64_t every : {1, 2, 3, 7}) {
    // A stream that ends before its first event, always, tells nothing for ever.
    const bool ends = GetParam() == EventFault::End || GetParam() == EventFault::Break;
    if (ends && every == 1) continue;
    SCOPED_TRACE(fmt::format("{} of every event number {}", to_string(GetParam()), every));
    World world({.jobs_take = 20s});
    world.faults().on_event = [&](std::uint64_t number, const kube::WatchRequest&,
                                  const kube::WatchEvent&) {
      return number % every == 0 ? GetParam() : EventFault::None;
    };
    live(world);
    EXPECT_FALSE(world.injected().empty());
    EXPECT_EQ(difference(wanted, world.picture()), "");
    EXPECT_EQ(world.mirror().created("Pod"), pods);
    world.expect_rest();
  }
}

INSTANTIATE_TEST_SUITE_P(, DisturbedWatch, testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(LostWatchEvents, OfPodsAreMadeUpForByTheNextList) {
  World world;
  world.faults().on_event = [](std::uint64_t, const kube::WatchRequest& request,
                               const kube::WatchEvent&) {
    return request.resource == kube::kPods ? EventFault::Drop : EventFault::None;
  };
  world.apply(kCluster).pass(30s);
  EXPECT_EQ(world.mirror().created("Pod"), 3) << "its own creations it knows without watching";
  world.faults().on_event = {};
  world.crash().run_until(cluster_is("c", "ready")).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 3);
}

}  // namespace
}  // namespace manta::integration
