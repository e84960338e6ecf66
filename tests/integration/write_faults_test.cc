// Every write that the operator makes in the life of a RayCluster and of a RayJob, crossed with
// every way in which it can go wrong. Whatever happens: never two live heads (laws.h, at every
// commit), never a Pod too many at the end, one submission, and the same objects as without faults.
//
// The writes are counted by a run without faults. One World runs all of one fault's rows, one after
// another, and must be empty again between them; a failing row names its write.
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using kube::CallFault;

// The state in Redis has to go before the RayCluster does.
std::string cluster_with_redis() {
  std::string yaml = kCluster;
  const std::string_view before = "  headGroupSpec:";
  return yaml.insert(yaml.find(before),
                     "  gcsFaultToleranceOptions: {redisAddress: \"redis:6379\"}\n");
}

/// What a user does, from nothing to the end that is compared; and back to nothing.
struct Life {
  const char* name;
  std::function<void(World&)> live;
  std::function<void(World&)> leave;
  int submissions;  // of Ray jobs
};

const Life kLives[] = {
    {"RayClusterCreatedAndScaled",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h);
       world.patch("RayCluster", "c", fmt::format(fmt::runtime(kGroup), 4))
           .run_until(has_workers("c", 4), 1h);
       world.patch("RayCluster", "c", fmt::format(fmt::runtime(kGroup), 2)).settle();
       EXPECT_EQ(world.workers("c").size(), 2u);
     },
     [](World& world) { world.remove("RayCluster", "c").settle(); }, 0},
    {"RayClusterSuspendedAndResumed",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h);
       world.patch("RayCluster", "c", "{spec: {suspend: true}}")
           .run_until(cluster_is("c", "suspended"), 1h);
       world.patch("RayCluster", "c", "{spec: {suspend: false}}")
           .run_until(cluster_is("c", "ready"), 1h)
           .settle();
       EXPECT_EQ(world.workers("c").size(), 2u);
     },
     [](World& world) { world.remove("RayCluster", "c").settle(); }, 0},
    {"RayClusterWhosePodsFail",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h).settle();
       world.kubelet().fail(world.workers("c").at(0));
       world.kubelet().evict(world.head("c"));
       world.settle();
       EXPECT_EQ(world.workers("c").size(), 2u);
       EXPECT_FALSE(world.head("c").empty());
     },
     [](World& world) { world.remove("RayCluster", "c").settle(); }, 0},
    {"RayClusterWithRedisGoes",
     [](World& world) {
       world.apply(cluster_with_redis()).run_until(cluster_is("c", "ready"), 1h);
       world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 1h).settle();
       EXPECT_GE(world.mirror().created("Job"), 1) << "nobody has cleaned Redis";
     },
     [](World& world) { world.settle(); }, 0},
    {"RayJobToItsEnd",
     [](World& world) {
       world.apply(kJob).run_until(job_is("j", "Complete"), 1h).settle();
       EXPECT_EQ(string_at(world.get("RayJob", "j"), {"status", "jobStatus"}), "SUCCEEDED");
       EXPECT_TRUE(world.mirror().list("RayCluster").empty());
     },
     [](World& world) { world.remove("RayJob", "j").settle(); }, 1},
    {"RayJobDeletedInMidRun",
     [](World& world) {
       world.apply(kJob).run_until(ray_job_is("j", "RUNNING"), 1h);
       world.remove("RayJob", "j").settle();
     },
     [](World& world) { world.settle(); }, 1},
};

const CallFault kFaults[] = {
    CallFault::Conflict,    CallFault::TimeoutBefore,   CallFault::LostReply,
    CallFault::ServerError, CallFault::TooManyRequests, CallFault::Unavailable,
    CallFault::Forbidden,   CallFault::CrashBefore,     CallFault::CrashAfter};

struct Row {
  Life life;
  CallFault fault;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.life.name << ' ' << to_string(row.fault);
}
std::vector<Row> rows() {
  std::vector<Row> all;
  for (const auto& life : kLives)
    for (const auto fault : kFaults) all.push_back({life, fault});
  return all;
}

class EveryWrite : public testing::TestWithParam<Row> {};

TEST_P(EveryWrite, LostInAnyWayLeavesNoTrace) {
  const auto& [life, fault] = GetParam();
  World world({.jobs_take = 20s});
  const auto nothing = world.picture();
  life.live(world);
  const auto wanted = world.picture();
  const auto writes = world.faults().writes;
  ASSERT_GT(writes.size(), 4u);
  life.leave(world);
  ASSERT_EQ(difference(nothing, world.picture()), "");

  for (std::size_t row = 0; row < writes.size(); ++row) {
    SCOPED_TRACE(fmt::format("{} of write {}: {}", to_string(fault), row, writes[row]));
    world.faults().writes.clear();
    const auto injected = world.injected().size();
    const auto submitted = world.ray().submissions().size();
    world.faults().on_write = [&](std::size_t number, const kube::Request&) {
      return number == row ? fault : CallFault::None;
    };
    life.live(world);
    EXPECT_EQ(world.injected().size(), injected + 1) << "the row's write was never made";
    EXPECT_EQ(difference(wanted, world.picture()), "");
    EXPECT_EQ(world.ray().submissions().size(),
              submitted + static_cast<std::size_t>(life.submissions));
    world.faults().on_write = {};
    life.leave(world);
    EXPECT_EQ(difference(nothing, world.picture()), "");
    if (HasFailure()) return;  // the rows after it start from a spoilt world
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryWrite, testing::ValuesIn(rows()), [](const auto& info) {
  return fmt::format("{}_{}", info.param.life.name, to_string(info.param.fault));
});

// Each write in turn fails several times in a row: backing off ends, too.
TEST(WriteFaults, AWriteThatFailsTenTimesIsStillMadeOnce) {
  World world({.jobs_take = 20s});
  std::map<std::string, int> refused;
  world.faults().on_write = [&](std::size_t, const kube::Request& request) {
    const auto what = fmt::format("{} {} {}", static_cast<int>(request.verb),
                                  request.resource.plural, request.subresource);
    return ++refused[what] <= 10 ? CallFault::ServerError : CallFault::None;
  };
  world.apply(kJob).run_until(job_is("j", "Complete"), 6h);
  world.faults().on_write = {};
  world.settle();
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  EXPECT_EQ(world.mirror().created("Job"), 1);
  EXPECT_EQ(world.ray().submissions().size(), 1u);
}

}  // namespace
}  // namespace manta::integration
