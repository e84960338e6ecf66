#include "ray/builders/resources.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

constexpr std::int32_t kMax = 2147483647;

WorkerGroupSpec group(Opt<Int32> replicas, Opt<Int32> min, Opt<Int32> max, Int32 hosts = 1) {
  WorkerGroupSpec spec;
  spec.replicas = replicas;
  spec.minReplicas = min;
  spec.maxReplicas = max;
  spec.numOfHosts = hosts;
  return spec;
}

Json pod_template(std::string_view resources) {
  return parse_json(R"({"spec":{"containers":[{"resources":)" + std::string(resources) + "}]}}")
      .value();
}

TEST(DesiredPods, ReplicasWithinTheirBoundsTimesHosts) {
  struct Row {
    const char* name;
    WorkerGroupSpec group;
    std::int32_t want;
  };
  WorkerGroupSpec suspended = group(3, 1, 5);
  suspended.suspend = true;
  const Row rows[] = {
      {"within", group(3, 1, 5), 3},
      {"absent reads as min", group({}, 2, 5), 2},
      {"nothing said", group({}, {}, {}), 0},
      {"below min", group(-4, 1, 5), 1},
      {"above max", group(9, 1, 5), 5},
      {"min wins over max", group(1, 7, 5), 7},
      {"hosts", group(3, 1, 5, 4), 12},
      {"suspended", suspended, 0},
      {"saturates", group(kMax, 0, kMax, 2), kMax},
  };
  for (const Row& row : rows) EXPECT_EQ(desired_pods(row.group), row.want) << row.name;
}

TEST(WorkerPods, MaximumSaturates) {
  RayClusterSpec spec;
  spec.workerGroupSpecs = {group(1, 0, kMax, 4), group(1, 2, 3)};
  EXPECT_EQ(max_worker_pods(spec), kMax);
  EXPECT_EQ(min_worker_pods(spec), 2);
  EXPECT_EQ(desired_worker_pods(spec), 4 + 2);
}

// spec/03 §7's example.
TEST(Resources, OfAWholeCluster) {
  RayClusterSpec spec;
  spec.headGroupSpec.template_ = pod_template(R"({"limits":{"cpu":1,"memory":"100Mi"}})");
  spec.workerGroupSpecs = {group(4, 3, 9, 2)};
  spec.workerGroupSpecs[0].template_ =
      pod_template(R"({"requests":{"cpu":"1000m"},"limits":{"cpu":"8","memory":"200Mi"}})");
  EXPECT_EQ(dump_json(json_of(desired_resources(spec))), R"({"cpu":"9","memory":"1700Mi"})");
  spec.workerGroupSpecs[0].suspend = true;
  EXPECT_EQ(amount_of(desired_resources(spec), "cpu").to_string(), "1");
}

TEST(Resources, CountReplicasAsWrittenButNoneBelowZero) {  // SEEN-05
  const auto cpus = [](const WorkerGroupSpec& of) {
    RayClusterSpec spec;
    spec.workerGroupSpecs = {of};
    spec.workerGroupSpecs[0].template_ = pod_template(R"({"requests":{"cpu":"1"}})");
    return amount_of(desired_resources(spec), "cpu").to_string();
  };
  EXPECT_EQ(cpus(group(9, 0, 2)), "9");
  EXPECT_EQ(cpus(group({}, 1, 3)), "0");
  EXPECT_EQ(cpus(group(0, 1, 3)), "0");
  EXPECT_EQ(cpus(group(-3, 0, 4)), "0");
  EXPECT_EQ(cpus(group(-3, 2, 4)), "2");
}

TEST(Resources, GpusOfEveryName) {
  const auto list = pod_resources(pod_template(
      R"({"limits":{"nvidia.com/gpu":3,"nvidia.com/mig-1g.10gb":2,"foo.bar/gpu":"2","google.com/tpu":1}})"));
  EXPECT_EQ(gpus_of(list).to_string(), "7");
  EXPECT_EQ(amount_of(list, "google.com/tpu").to_string(), "1");
  EXPECT_EQ(amount_of(list, "cpu").to_string(), "0");
}

}  // namespace
}  // namespace manta::ray
