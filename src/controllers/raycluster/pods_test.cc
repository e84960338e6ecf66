#include "controllers/raycluster/pods.h"

#include "controllers/raycluster/testing.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace manta::controllers::raycluster {
namespace {

using testing::kNow;

std::vector<std::string> replica_names(const kube::Stage& stage) {
  std::vector<std::string> names;
  for (const auto& write : stage)
    names.emplace_back(string_at(write.body, {"metadata", "labels", ray::kLabelReplicaName}));
  return names;
}

// A plan may be made again in the same instant, when half of its Pods are there.
TEST(NewReplicas, HaveNamesThatNoReplicaOfThatInstantHas) {
  std::optional<Time> next;
  RayClusterSeen seen{.cluster = std::make_shared<const ray::RayCluster>(testing::cluster(2, 2)),
                      .pods = {testing::head()}};
  const auto first = replica_names(group_writes(seen, {}, kNow, next));
  ASSERT_EQ(first.size(), 4u);
  ASSERT_EQ(std::set(first.begin(), first.end()).size(), 2u);
  for (const auto* name : {"c-w1", "c-w2"})
    seen.pods.push_back(testing::worker(name, {}, "0", first.front()));
  const auto second = replica_names(group_writes(seen, {}, kNow, next));
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second.front(), second.back());
  EXPECT_NE(second.front(), first.front());
}

}  // namespace
}  // namespace manta::controllers::raycluster
