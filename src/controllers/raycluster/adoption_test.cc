#include "controllers/raycluster/adoption.h"

#include "controllers/raycluster/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers::raycluster {
namespace {

using namespace testing;

kube::ObjectMeta ownerless(kube::PodView pod, Duration age = std::chrono::hours{1}) {
  pod.meta.owners.clear();
  pod.meta.created = kNow - age;
  return pod.meta;
}
kube::ObjectMeta young_cluster() {
  auto meta = cluster().meta;
  meta.created = kNow;
  return meta;
}
kube::PodView built_head() { return pod("c-head-x7k2p", ray::kNodeTypeHead, ray::kHeadGroup); }
kube::PodView built_worker() { return pod("c-g-worker-b4d9s", ray::kNodeTypeWorker, "g"); }

TEST(Adoption, OfWhatAnOperatorMadeBefore) {
  EXPECT_TRUE(is_left_behind(ownerless(built_head()), young_cluster()));
  EXPECT_TRUE(is_left_behind(ownerless(built_worker()), young_cluster()));
  EXPECT_TRUE(is_left_behind(ownerless(built_head(), {}), young_cluster())) << "in that second";
  EXPECT_TRUE(is_left_behind(ownerless(pod("c-head", ray::kNodeTypeHead, ray::kHeadGroup)),
                             young_cluster()))
      << "ENABLE_DETERMINISTIC_HEAD_POD_NAME";
}

TEST(Adoption, NotOfWhatSomebodyMadeOrOwns) {
  EXPECT_FALSE(is_left_behind(built_head().meta, young_cluster())) << "it has an owner";
  EXPECT_FALSE(is_left_behind(ownerless(built_head(), std::chrono::seconds{-1}), young_cluster()))
      << "younger than the cluster";
  auto bare = built_head();
  bare.meta.annotations.clear();
  EXPECT_FALSE(is_left_behind(ownerless(bare), young_cluster()));
  EXPECT_FALSE(
      is_left_behind(ownerless(pod("mine", ray::kNodeTypeHead, ray::kHeadGroup)), young_cluster()));
  EXPECT_FALSE(is_left_behind(ownerless(pod("c-headroom-a", ray::kNodeTypeHead, ray::kHeadGroup)),
                              young_cluster()));
  EXPECT_FALSE(
      is_left_behind(ownerless(pod("c-h-worker-a", ray::kNodeTypeWorker, "g")), young_cluster()))
      << "named after another group";
  auto going = ownerless(built_worker());
  going.deleting = kNow;
  EXPECT_FALSE(is_left_behind(going, young_cluster()));
  EXPECT_FALSE(is_left_behind(
      ownerless(pod("c-head-a", ray::kNodeTypeRedisCleanup, ray::kHeadGroup)), young_cluster()));
}

TEST(Adoption, KeepsOtherOwnersAndHoldsOnToTheVeryPod) {
  auto left = built_head();
  left.meta.owners = {{.apiVersion = "v1", .kind = "ConfigMap", .name = "m", .uid = "m-uid"}};
  const auto writes = adoption_writes(seen(cluster(), {share(left), worker("w0")}));
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].key.name, "c-head-x7k2p");
  EXPECT_EQ(canonical_json(writes[0].body),
            R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"m",)"
            R"("uid":"m-uid"},{"apiVersion":"ray.io/v1","blockOwnerDeletion":true,)"
            R"("controller":true,"kind":"RayCluster","name":"c","uid":"c-uid"}],)"
            R"("uid":"c-head-x7k2p-uid"}})");
}

}  // namespace
}  // namespace manta::controllers::raycluster
