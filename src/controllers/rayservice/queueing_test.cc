// A RayService that Kueue holds back and lets run.
#include "controllers/rayservice/queueing.h"

#include "controllers/rayservice/clusters.h"
#include "controllers/rayservice/conditions.h"
#include "controllers/rayservice/testing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace manta::controllers::rayservice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::writes;

struct Queue : testing::Table {
  Queue() {
    rs.meta.labels["kueue.x-k8s.io/queue-name"] = "q";
    rs.spec.rayClusterConfig.suspend = true;
  }
  static std::string told(const Draft& draft) {
    const auto* ready = ray::find_condition(draft.status.conditions, kReady);
    return ready ? fmt::format("{} {}: {}", ready->status, ready->reason, ready->message) : "";
  }
  void serve_with(std::shared_ptr<ray::RayCluster> made) {
    rs.status.activeServiceStatus.rayClusterName = made->meta.key.name;
    seen.active = with_head(std::move(made));
  }
  /// What a patch leaves of a cluster.
  static std::shared_ptr<ray::RayCluster> patched(const ray::RayCluster& before,
                                                  const kube::Write& write) {
    auto object = ray::to_json(before);
    merge_patch(object, write.body);
    return std::make_shared<ray::RayCluster>(ray::parse_ray_cluster(object).value());
  }
};

TEST_F(Queue, NothingIsMadeUntilItMayRun) {
  const auto out = make();
  EXPECT_THAT(writes(out), ElementsAre());
  ASSERT_TRUE(out.status);
  EXPECT_EQ(out.events.size(), 0u) << "no fault of the user";
  auto held = draft();
  EXPECT_TRUE(plan_hold(held));
  EXPECT_THAT(told(held),
              HasSubstr("False HeldByQueue: rayClusterConfig.suspend is true: queue q "));
}

TEST_F(Queue, OneThatServesGivesUpItsPodsAndGetsThemBack) {
  rs.spec.rayClusterConfig.suspend = false;
  serve_with(cluster("s-a", true));
  rs.spec.rayClusterConfig.suspend = true;
  auto held = draft();
  EXPECT_TRUE(plan_hold(held));
  const auto hold = writes(held.plan);
  ASSERT_EQ(hold.size(), 1u);
  const auto asleep = patched(*seen.active.cluster, hold[0]);
  EXPECT_TRUE(ray::is_true(asleep->spec.suspend));

  rs.status = held.status;
  seen.clusters = {asleep};
  auto still = draft();
  EXPECT_TRUE(plan_hold(still));
  EXPECT_THAT(writes(still.plan), ElementsAre());

  rs.spec.rayClusterConfig.suspend = false;
  auto free = draft();
  EXPECT_FALSE(plan_hold(free));
  EXPECT_THAT(told(free), HasSubstr("False ZeroServeEndpoints"));
  resume_cluster(free, *asleep);
  const auto lift = writes(free.plan);
  ASSERT_EQ(lift.size(), 1u);
  const auto awake = patched(*asleep, lift[0]);
  EXPECT_FALSE(ray::is_true(awake->spec.suspend));
  EXPECT_FALSE(was_held(*awake));
}

TEST_F(Queue, WhatKueueSuspendedByItselfIsMarkedAsOurs) {
  auto asleep = cluster("s-a", true);
  asleep->spec.suspend = true;
  serve_with(asleep);
  auto held = draft();
  EXPECT_TRUE(plan_hold(held));
  ASSERT_EQ(writes(held.plan).size(), 1u);
  EXPECT_TRUE(was_held(*patched(*asleep, writes(held.plan)[0])));
}

TEST_F(Queue, OnOtherNodesAnotherClusterTakesOver) {
  auto old = patched(*cluster("s-a", true), hold_cluster(*cluster("s-a", true), true));
  serve_with(old);
  rs.spec.rayClusterConfig.suspend = false;
  ensure(rs.spec.rayClusterConfig.headGroupSpec.template_, {"spec", "nodeSelector", "pool"}) = "b";
  auto free = draft();
  resume_cluster(free, *old);
  EXPECT_THAT(writes(free.plan), ElementsAre());
  EXPECT_THAT(free.waits, ElementsAre("RayCluster s-a is suspended"));
}

TEST_F(Queue, WaitingIsNotInitializing) {
  auto held = draft();
  EXPECT_TRUE(plan_hold(held));
  rs.status = held.status;
  rs.status.conditions[0].lastTransitionTime = testing::kNow - std::chrono::hours{9};
  rs.spec.rayClusterConfig.suspend = false;
  auto free = draft();
  EXPECT_FALSE(plan_hold(free));
  EXPECT_THAT(told(free), HasSubstr("False Initializing"));
  EXPECT_EQ(free.status.conditions[0].lastTransitionTime, testing::kNow);
}

TEST_F(Queue, WithoutAQueueTheFieldHoldsNothing) {
  rs.meta.labels.clear();
  auto out = draft();
  EXPECT_FALSE(plan_hold(out));
  EXPECT_EQ(told(out), "");
}

}  // namespace
}  // namespace manta::controllers::rayservice
