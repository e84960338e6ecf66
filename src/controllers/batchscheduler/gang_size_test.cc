#include "controllers/batchscheduler/gang_size.h"

#include "controllers/raycluster/testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::batchscheduler {
namespace {

// One head and one group, each Pod of one CPU and 1Gi.
struct Case {
  const char* name;
  std::optional<std::int32_t> replicas;
  std::optional<std::int32_t> least;
  std::optional<std::int32_t> most;
  std::int32_t hosts = 1;
  bool suspended = false;
  std::int64_t whole = 0;
  std::int64_t minimum = 0;
};
const Case kCases[] = {
    {.name = "AsWritten", .replicas = 2, .least = 0, .most = 10, .whole = 3, .minimum = 1},
    {.name = "AboveMost", .replicas = 10, .least = 0, .most = 4, .whole = 5, .minimum = 1},
    {.name = "BelowLeast", .replicas = 1, .least = 3, .most = 5, .whole = 4, .minimum = 4},
    {.name = "NoReplicas", .least = 2, .most = 5, .whole = 3, .minimum = 3},
    {.name = "Nothing", .whole = 1, .minimum = 1},
    {.name = "Hosts", .replicas = 2, .least = 1, .most = 10, .hosts = 4, .whole = 9, .minimum = 5},
    {.name = "Suspended",
     .replicas = 2,
     .least = 1,
     .most = 9,
     .suspended = true,
     .whole = 1,
     .minimum = 1},
};
class GangSizes : public testing::TestWithParam<Case> {};
TEST_P(GangSizes, Row) {
  const auto& row = GetParam();
  auto cluster = raycluster::testing::cluster(1, row.hosts);
  auto& group = cluster.spec.workerGroupSpecs[0];
  group.replicas = row.replicas;
  group.minReplicas = row.least;
  group.maxReplicas = row.most;
  group.suspend = row.suspended;
  const auto check = [](const GangSize& size, std::int64_t members) {
    EXPECT_EQ(size.members, members);
    EXPECT_EQ(dump_json(ray::json_of(size.resources)),
              fmt::format(R"({{"cpu":"{0}","memory":"{0}Gi"}})", members));
  };
  check(whole_gang(cluster.spec), row.whole);
  check(least_gang(cluster.spec), row.minimum);
}
INSTANTIATE_TEST_SUITE_P(, GangSizes, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::controllers::batchscheduler
