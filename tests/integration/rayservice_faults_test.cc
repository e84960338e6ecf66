// Every write of three lives of a RayService, crossed with every way in which it can go wrong, by
// the loop of write_faults.h. Whatever happens: never more than two clusters, the Serve Service
// never selects one that is gone, weights sum to 100, and the same objects at the end.
#include "service_world.h"
#include "write_faults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;

struct Life {
  const char* name;
  bool gateway;
  std::function<void(ServiceWorld&)> live;
};

Until one_cluster(const ServiceWorld& world) {
  return {"one cluster", [&world](const World&) { return world.clusters().size() == 1; }};
}
Until half_way(const ServiceWorld& world) {
  return {"half of the traffic has moved", [&world](const World&) {
            const auto weights = world.weights();
            return weights.size() == 2 && weights.begin()->second == 50;
          }};
}
Until settled_on_one(const ServiceWorld& world) {
  return {"no pending cluster", [&world](const World&) { return world.pending().empty(); }};
}

const Life kLives[] = {
    {"DeployedAndReplaced", false,
     [](ServiceWorld& world) {
       world.deploy(kService);
       world.set_image("two")
           .run_until(upgraded("s"), 1h)
           .run_until(one_cluster(world), 1h)
           .settle();
     }},
    {"SuspendedAndResumed", false,
     [](ServiceWorld& world) {
       world.deploy(kService);
       world.patch("RayService", "s", "{spec: {suspend: true}}")
           .run_until(has_condition("s", "Suspended", "True SuspendComplete"), 1h);
       world.patch("RayService", "s", "{spec: {suspend: false}}")
           .run_until(service_serves("s"), 1h)
           .settle();
     }},
    {"RolledBackInSteps", true,
     [](ServiceWorld& world) {
       world.deploy(kIncrementalService);
       world.set_image("two").run_until(half_way(world), 1h);
       world.set_image("one")
           .run_until(settled_on_one(world), 1h)
           .run_until(one_cluster(world), 1h)
           .settle();
     }},
};

// A cluster that the status has stopped naming is there no longer than the delay asks (a minute,
// and a second because stored times are whole ones), whatever is killed when: the time that a fault
// costs is all that may come on top, and that is a time-out and a back-off.
class Dropped {
 public:
  void look(const ServiceWorld& world, Time now) {
    for (const auto& [name, since] : since_)
      EXPECT_LE(now - since, 61s + kFault) << name << " was still there";
    const auto alive = world.clusters();
    std::erase_if(since_, [&](const auto& dropped) {
      return std::ranges::find(alive, dropped.first) == alive.end() ||
             is_named(world, dropped.first);
    });
    for (const auto& name : alive)
      if (!is_named(world, name)) since_.emplace(name, now);
  }

 private:
  static constexpr Duration kFault = 45s;
  static bool is_named(const ServiceWorld& world, std::string_view cluster) {
    return cluster == world.active() || cluster == world.pending();
  }
  std::map<std::string, Time> since_ = {};
};

// Looked at in every state that was ever stored.
void watch_laws(ServiceWorld& world) {
  world.mirror().listen([&world, dropped = Dropped()](const Change& change) mutable {
    if (world.service().is_null() || is_deleting(world.service())) return;
    EXPECT_LE(world.clusters().size(), 2u);
    dropped.look(world, change.at);
    std::int64_t sum = 0;
    for (const auto& [cluster, weight] : world.weights()) sum += weight;
    EXPECT_TRUE(sum == 0 || sum == 100) << sum;
    const auto served = world.behind("s-serve-svc");
    const bool suspended = !world.condition("Suspending").starts_with("False") &&
                           !world.condition("Suspending").empty();
    if (!served.empty() && !suspended)
      EXPECT_NE(world.mirror().find("RayCluster", served), nullptr) << served;
  });
}

// Without endpoints, and with the clusters' names alike: both are chance.
std::vector<std::string> picture_of(const ServiceWorld& world) {
  static const std::regex kName("\\bs-[bcdfghjklmnpqrstvwxz2456789]{5}\\b");
  auto picture = world.picture(
      [](const Json& object) { return string_at(object, {"kind"}) != "EndpointSlice"; });
  for (auto& line : picture) line = std::regex_replace(line, kName, "s-<suffix>");
  std::ranges::sort(picture);
  return picture;
}

class EveryServiceWrite : public testing::TestWithParam<FaultRow> {};

TEST_P(EveryServiceWrite, LostInAnyWayLeavesNoTrace) {
  const auto& life = kLives[GetParam().life];
  ServiceWorld world;
  if (life.gateway) world.serve_gateway_api();
  watch_laws(world);
  lose_every_write(
      world,
      {.live = [&] { life.live(world); },
       .leave =
           [&] {
             world.remove("RayService", "s").run_until(is_gone("RayService", "s"), 1h).settle();
             world.forget_endpoints();
           },
       .picture = [&] { return picture_of(world); }},
      GetParam().fault);
}

INSTANTIATE_TEST_SUITE_P(, EveryServiceWrite, testing::ValuesIn(each_under_every_fault(kLives)),
                         name_of_row);

}  // namespace
}  // namespace manta::integration
