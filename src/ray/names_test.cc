#include "ray/names.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

TEST(CheckName, KeepsTheTailAndMendsItsFirstByte) {
  const std::pair<std::string, std::string> rows[] = {
      {"72fbcc7e-a661-4b18e-ca41-e903-fc3ae634b18e-lazer090scholar-director-s",
       "rca41-e903-fc3ae634b18e-lazer090scholar-director-s"},
      {"--------566666--------444433-----------222222----------4444",
       "r6666--------444433-----------222222----------4444"},
      {std::string(200, 'a'), std::string(50, 'a')},
      {"7up", "rup"},
      {"plain", "plain"},
      {"$odd", "$odd"},
      {"", ""},
  };
  for (const auto& [name, want] : rows) EXPECT_EQ(check_name(name), want) << name;
}

TEST(CheckLabel, KeepsDigits) {
  EXPECT_EQ(check_label("7up-head"), "7up-head");
  EXPECT_EQ(check_label("-" + std::string(62, 'x')), "r" + std::string(62, 'x'));
  EXPECT_EQ(check_label(std::string(40, 'a') + std::string(40, 'b')),
            std::string(23, 'a') + std::string(40, 'b'));
}

TEST(CheckRouteName, LeavesRoomForTheNamespace) {
  EXPECT_EQ(check_route_name("cv-traffic-training-202402090958", "development-namespace"),
            "cv-traffic-training-2024020909");
  EXPECT_EQ(check_route_name("2-step-cv-training-network-revisited", "development-namespace"),
            "r-step-cv-training-network-rev");
  EXPECT_EQ(check_route_name("a-route", std::string(60, 'n')), "a-route");
}

TEST(Names, OfTheLongestClusterName) {
  const std::string cluster = "ml-training-team-alpha-very-long-cluster-name-abcd-12";
  EXPECT_EQ(check_name(cluster), "training-team-alpha-very-long-cluster-name-abcd-12");
  EXPECT_EQ(head_ingress_name(cluster), "ralpha-very-long-cluster-name-abcd-12-head-ingress");
  EXPECT_EQ(head_route_name(cluster, "default"), "ml-training-team-alpha-very-long-cluster-nam");
  EXPECT_EQ(redis_cleanup_job_name(cluster),
            "raining-team-alpha-very-long-cluster-name-abcd-12-redis-cleanup");
  EXPECT_EQ(head_pod_prefix(cluster), "ml-training-team-alpha-very-long-cluster-name-abcd-head-");
  EXPECT_EQ(worker_pod_prefix(cluster, "gpu-workers"),
            "ml-training-team-alpha-very-long-cluster-name-abcd-worker-");
}

TEST(Names, PodNamesAreLowerCase) {
  EXPECT_EQ(worker_pod_prefix("demo", "GPU"), "demo-gpu-worker-");
  EXPECT_EQ(head_pod_name("demo"), "demo-head");
}

TEST(Names, HostOfAService) {
  EXPECT_EQ(service_host("demo-head-svc", "ray", "cluster.local"),
            "demo-head-svc.ray.svc.cluster.local");
}

}  // namespace
}  // namespace manta::ray
