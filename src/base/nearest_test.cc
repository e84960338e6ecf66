#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace manta {
namespace {

TEST(Nearest, OneOrTwoMistakesAreForgiven) {
  const std::vector<std::string> names = {"up", "RayCronJob", "RayClusterMTLS", "status"};
  EXPECT_EQ(nearest("RayCronJobs", names), "RayCronJob");
  EXPECT_EQ(nearest("raycronjob", names), "RayCronJob");
  EXPECT_EQ(nearest("RayClusterMtls", names), "RayClusterMTLS");
  EXPECT_EQ(nearest("statsu", names), "status");
  EXPECT_EQ(nearest("RayJob", names), "");
  EXPECT_EQ(nearest("", {}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), names), "");
}

TEST(Nearest, OfTwoTheNearerOne) {
  EXPECT_EQ(nearest("cats", std::vector<std::string>{"carts", "cat", "cots"}), "carts");
  EXPECT_EQ(nearest("cat", std::vector<std::string>{"carts", "cat"}), "cat");
}

}  // namespace
}  // namespace manta
