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
  check(whole_gang(cluster, {}), row.whole);
  check(least_gang(cluster, {}), row.minimum);
}
INSTANTIATE_TEST_SUITE_P(, GangSizes, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(GangSize, WhatNoPodAsksForIsNotNamed) {
  auto cluster = raycluster::testing::cluster(0);
  auto& group = cluster.spec.workerGroupSpecs[0];
  group.minReplicas = 0;
  ensure(group.template_, {"spec", "containers"}) =
      parse_json(R"([{"name":"w","resources":{"limits":{"nvidia.com/gpu":1}}}])").value();
  for (const auto& size : {whole_gang(cluster, {}), least_gang(cluster, {})})
    EXPECT_EQ(dump_json(ray::json_of(size.resources)), R"({"cpu":"1","memory":"1Gi"})");
}

// A container of 1 CPU, a sidecar of 1, an init container of 2 and 1 of overhead: 3 CPUs in all, as
// the init container is through before the other starts.
Json heavy_template(bool sidecar_first) {
  const std::string sidecar =
      R"({"name":"side","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}})";
  const std::string plain = R"({"name":"plain","resources":{"requests":{"cpu":"2"}}})";
  return parse_json(
             fmt::format(
                 R"({{"spec":{{"overhead":{{"cpu":"1"}},"initContainers":[{},{}],)"
                 R"("containers":[{{"name":"ray","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}})",
                 sidecar_first ? sidecar : plain, sidecar_first ? plain : sidecar))
      .value();
}

struct HeavyCase {
  const char* name;
  bool gate;
  bool sidecar_first;
  bool autoscaled;
  const char* want;  // of one worker, beside a head of one CPU and 1Gi
};
const HeavyCase kHeavy[] = {
    {"AsUpstream", false, false, false, R"({"cpu":"2","memory":"1Gi"})"},
    // The worker's memory is that of the init container of ours.
    {"Sidecar", true, false, false, R"({"cpu":"4","memory":"1280Mi"})"},
    {"InitBesideTheSidecar", true, true, false, R"({"cpu":"5","memory":"1280Mi"})"},
    {"AutoscalerBesideTheHead", true, false, true, R"({"cpu":"4500m","memory":"1792Mi"})"},
    {"NoAutoscalerWithoutTheGate", false, false, true, R"({"cpu":"2","memory":"1Gi"})"},
};
class HeavyGang : public testing::TestWithParam<HeavyCase> {};
TEST_P(HeavyGang, RC_35) {
  const auto& row = GetParam();
  auto cluster = raycluster::testing::cluster(1);
  cluster.spec.enableInTreeAutoscaling = row.autoscaled;
  auto& group = cluster.spec.workerGroupSpecs[0];
  group.minReplicas = 1;
  group.template_ = heavy_template(row.sidecar_first);
  ray::BuildOptions options;
  options.scheduled_resources = row.gate;
  for (const auto& size : {whole_gang(cluster, options), least_gang(cluster, options)}) {
    EXPECT_EQ(size.members, 2);
    EXPECT_EQ(dump_json(ray::json_of(size.resources)), row.want);
  }
}
INSTANTIATE_TEST_SUITE_P(, HeavyGang, testing::ValuesIn(kHeavy),
                         [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::controllers::batchscheduler
