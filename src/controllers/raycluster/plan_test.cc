#include "controllers/raycluster/plan.h"

#include "controllers/raycluster/conditions.h"
#include "controllers/raycluster/testing.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::raycluster {
namespace {

using namespace testing;
using kube::WriteKind;

// Every write as "verb resource lane", stages parted by "; ".
std::string writes(const kube::Plan& plan) {
  const auto verb = [](WriteKind kind) {
    switch (kind) {
      case WriteKind::Create:
        return "create";
      case WriteKind::Update:
        return "update";
      case WriteKind::Patch:
        return "patch";
      case WriteKind::Delete:
        return "delete";
      case WriteKind::DeleteCollection:
        return "delete-all";
      case WriteKind::External:
        return "call";
    }
    return "?";
  };
  std::string text;
  for (const auto& stage : plan.stages) {
    if (stage.empty()) continue;
    std::string part;
    for (const auto& write : stage)
      part += fmt::format("{}{} {} ({})", part.empty() ? "" : ", ", verb(write.kind),
                          write.resource.plural, write.lane);
    text += (text.empty() ? "" : "; ") + part;
  }
  return text;
}

std::string reasons(const kube::Plan& plan) {
  std::string text;
  for (const auto& event : plan.events) text += (text.empty() ? "" : " ") + event.reason;
  return text;
}

kube::Plan plan_of(const RayClusterSeen& seen, const kube::Failures& failures = {},
                   const Settings& settings = {}) {
  const kube::Facts facts;
  return plan(seen, settings, {.now = kNow, .facts = facts, .failures = failures});
}

Pods running_pods() { return {head(), worker("w0", {}, "0"), worker("w1", {}, "1")}; }

std::string condition(const kube::Plan& plan, std::string_view type) {
  if (!plan.status) return "no status";
  for (const auto& item : array_at(plan.status->body, {"status", "conditions"}))
    if (string_at(item, {"type"}) == type)
      return fmt::format("{} {}", string_at(item, {"status"}), string_at(item, {"reason"}));
  return "absent";
}

// The cluster with the status that a plan wants.
ray::RayCluster with_status(ray::RayCluster cluster, const kube::Plan& plan) {
  cluster.status =
      ray::parse_part<ray::RayClusterStatus>(plan.status->body.at("status"), "status").value();
  return cluster;
}

struct Case {
  const char* name;
  RayClusterSeen seen;
  const char* want;
};

RayClusterSeen bare() {
  auto out = seen(cluster());
  out.head_services.clear();
  return out;
}
template <class Edit>
RayClusterSeen edited(RayClusterSeen from, Edit edit) {
  auto copy = *from.cluster;
  edit(copy);
  from.cluster = std::make_shared<const ray::RayCluster>(std::move(copy));
  return from;
}
ray::Condition is_true(std::string_view type) {
  return {.type = std::string(type),
          .status = "True",
          .lastTransitionTime = kNow,
          .reason = std::string(type)};
}

const Case kCases[] = {
    {"NewCluster", bare(),
     "create services (services); create pods (head); create pods (group/g), create pods "
     "(group/g)"},
    {"AllThere", seen(cluster(), running_pods()), ""},
    {"HeadFailed", seen(cluster(), {head({.phase = kube::PodPhase::Failed}), worker("w0")}),
     "delete pods (head)"},
    {"HeadGone", seen(cluster(1), {worker("w0", {}, "0")}), "create pods (head)"},
    {"TwoHeads", seen(cluster(), {head({}, "a"), head({}, "b")}), ""},
    {"Autoscaled",
     edited(bare(),
            [](auto& c) {
              c.spec.enableInTreeAutoscaling = true;
              c.spec.workerGroupSpecs.clear();
            }),
     "create serviceaccounts (account), create roles (account), create rolebindings (account), "
     "create services (services); create pods (head)"},
    {"UsersAccountMissing",
     edited(bare(),
            [](auto& c) {
              c.spec.enableInTreeAutoscaling = true;
              ensure(c.spec.headGroupSpec.template_, {"spec", "serviceAccountName"}) = "robot";
            }),
     ""},
    {"Token",
     edited(seen(cluster(), running_pods()),
            [](auto& c) { c.spec.authOptions = {.mode = "token"}; }),
     "create secrets (secret)"},
    {"MultiHost",
     edited(seen(cluster(0)), [](auto& c) { c.spec.workerGroupSpecs[0].numOfHosts = 2; }),
     "create services (services); create pods (head)"},
    {"SomebodyElses",
     edited(bare(), [](auto& c) { c.spec.managedBy = "kueue.x-k8s.io/multikueue"; }), ""},
    {"Deleted", edited(seen(cluster(), running_pods()), [](auto& c) { c.meta.deleting = kNow; }),
     ""},
    {"SuspensionIsNotedFirst",
     edited(seen(cluster(), running_pods()), [](auto& c) { c.spec.suspend = true; }), ""},
    {"SuspensionDeletes",
     edited(seen(cluster(), running_pods()),
            [](auto& c) { c.status.conditions = {is_true(kSuspending)}; }),
     "delete-all pods (all-pods)"},
    {"SuspensionWaits",
     edited(seen(cluster(), {head({.deleting = true})}),
            [](auto& c) { c.status.conditions = {is_true(kSuspending)}; }),
     ""},
    {"Suspended",
     edited(seen(cluster()),
            [](auto& c) {
              c.spec.suspend = true;
              c.status.conditions = {is_true(kSuspended)};
            }),
     ""},
    {"GroupSuspended",
     edited(seen(cluster(), running_pods()),
            [](auto& c) { c.spec.workerGroupSpecs[0].suspend = true; }),
     "delete-all pods (group/g)"},
    {"RedisNeedsItsFinalizer",
     edited(bare(), [](auto& c) { c.spec.gcsFaultToleranceOptions = {.redisAddress = "r:6379"}; }),
     "patch rayclusters (finalizer)"},
};
class ClusterWrites : public ::testing::TestWithParam<Case> {};
TEST_P(ClusterWrites, Row) { EXPECT_EQ(writes(plan_of(GetParam().seen)), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, ClusterWrites, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(ClusterPlanLaw, ASettledWorldsPlanIsEmpty) {
  const auto first = plan_of(seen(cluster(), running_pods()));
  ASSERT_TRUE(first.status);
  const auto second = plan_of(seen(with_status(cluster(), first), running_pods()));
  EXPECT_EQ(writes(second), "");
  EXPECT_FALSE(second.status);
  EXPECT_TRUE(second.events.empty());
}

TEST(ClusterPlan, ReadyWhenEveryPodRuns) {
  const auto plan = plan_of(seen(cluster(), running_pods()));
  ASSERT_TRUE(plan.status);
  EXPECT_EQ(string_at(plan.status->body, {"status", "state"}), "ready");
  EXPECT_EQ(string_at(plan.status->body, {"status", "desiredCPU"}), "3");
  EXPECT_EQ(int_at(plan.status->body, {"status", "readyWorkerReplicas"}), 2);
  EXPECT_EQ(condition(plan, kProvisioned), "True AllPodRunningAndReadyFirstTime");
  EXPECT_EQ(condition(plan, kHeadPodReady), "True HeadPodRunningAndReady");
}

TEST(ClusterPlan, RefusedHeadIsAReplicaFailureAndHoldsTheWorkersBack) {
  const kube::Failures failures = {
      {"head",
       {.marker = "FailedCreateHeadPod", .error = {.message = "exceeded quota"}, .attempts = 1}}};
  const auto plan = plan_of(seen(cluster()), failures);
  EXPECT_EQ(condition(plan, kReplicaFailure), "True FailedCreateHeadPod");
  EXPECT_EQ(string_at(plan.status->body, {"status", "state"}), "");
}

TEST(ClusterPlan, FailureOfWhatIsNoLongerWantedIsForgotten) {
  const kube::Failures failures = {{"group/g", {.marker = "FailedCreateWorkerPod", .attempts = 1}}};
  EXPECT_EQ(condition(plan_of(seen(cluster(), running_pods()), failures), kReplicaFailure),
            "absent");
}

TEST(ClusterPlan, SuspensionGoesThroughItsConditions) {
  auto wanted = cluster();
  wanted.spec.suspend = true;
  auto step = plan_of(seen(wanted, running_pods()));
  EXPECT_EQ(condition(step, kSuspending), "True RayClusterSuspending");
  wanted = with_status(wanted, step);
  EXPECT_EQ(writes(plan_of(seen(wanted, running_pods()))), "delete-all pods (all-pods)");
  wanted.spec.suspend = false;  // too late: it is carried out to the end
  EXPECT_EQ(writes(plan_of(seen(wanted, running_pods()))), "delete-all pods (all-pods)");
  wanted.spec.suspend = true;
  step = plan_of(seen(wanted));
  EXPECT_EQ(condition(step, kSuspended), "True RayClusterSuspended");
  EXPECT_EQ(string_at(step.status->body, {"status", "state"}), "suspended");
  wanted = with_status(wanted, step);
  EXPECT_EQ(writes(plan_of(seen(wanted))), "");
  wanted.spec.suspend.reset();  // RC-17: no longer there reads as false
  step = plan_of(seen(wanted));
  EXPECT_EQ(condition(step, kSuspended), "False RayClusterSuspended");
  EXPECT_EQ(writes(plan_of(seen(with_status(wanted, step)))),
            "create pods (head); create pods (group/g), create pods (group/g)");
}

TEST(ClusterPlan, ChangedSpecRecreatesOnlyWhatThisVersionMade) {
  auto wanted = cluster();
  wanted.spec.upgradeStrategy = {.type = "Recreate"};
  const auto pods_with = [](std::string version, std::string hash) {
    auto pod_view = *head();
    pod_view.meta.annotations = {{"ray.io/kuberay-version", std::move(version)},
                                 {"ray.io/upgrade-strategy-recreate-hash", std::move(hash)}};
    return Pods{share(std::move(pod_view)), worker("w0", {}, "0"), worker("w1", {}, "1")};
  };
  const auto hash = ray::recreate_hash(wanted.spec);
  const auto version = Settings{}.build.version;
  EXPECT_EQ(writes(plan_of(seen(wanted, pods_with(version, hash)))), "");
  EXPECT_EQ(writes(plan_of(seen(wanted, pods_with(version, "other")))),
            "delete-all pods (all-pods)");
  EXPECT_EQ(writes(plan_of(seen(wanted, pods_with("v1.6.0", "other")))), "patch pods (stamp)");
}

TEST(ClusterPlan, InvalidSpecIsSaidAndNothingElse) {
  auto bad = cluster();
  bad.spec.headGroupSpec.template_ = parse_json(R"({"spec":{"containers":[]}})").value();
  const auto plan = plan_of(seen(bad));
  EXPECT_EQ(reasons(plan), "InvalidRayClusterSpec");
  EXPECT_EQ(writes(plan), "");
  EXPECT_FALSE(plan.status);
}

TEST(ClusterPlan, GroupNamesThatNeverSettleAreRefused) {  // RC-13, SEEN-04
  auto twice = cluster();
  twice.spec.workerGroupSpecs.push_back(twice.spec.workerGroupSpecs[0]);
  EXPECT_EQ(reasons(plan_of(seen(twice))), "InvalidRayClusterSpec");
  auto heads = cluster();
  heads.spec.workerGroupSpecs[0].groupName = "headgroup";
  EXPECT_EQ(reasons(plan_of(seen(heads))), "InvalidRayClusterSpec");
}

TEST(ClusterPlan, RedisIsCleanedBeforeTheClusterGoes) {
  auto dying = cluster(0);
  dying.spec.gcsFaultToleranceOptions = {.redisAddress = "r:6379"};
  dying.meta.finalizers = {std::string(ray::kFinalizerRedisCleanup)};
  dying.meta.deleting = kNow;
  EXPECT_EQ(writes(plan_of(seen(dying, {head()}))), "delete-all pods (all-pods)");
  EXPECT_EQ(writes(plan_of(seen(dying, {head({.deleting = true})}))), "");
  EXPECT_EQ(writes(plan_of(seen(dying))), "create jobs (cleanup)");
  auto cleaned = seen(dying);
  cleaned.cleanup_jobs = {std::make_shared<const kube::JobView>(
      kube::JobView{.conditions = {{.type = "Complete", .status = "True"}}})};
  EXPECT_EQ(writes(plan_of(cleaned)), "patch rayclusters (finalizer)");
  dying.meta.deleting = kNow - std::chrono::seconds{301};  // FT-07: whatever holds the head up
  EXPECT_EQ(writes(plan_of(seen(dying, {head({.deleting = true})}))),
            "patch rayclusters (finalizer)");
}

}  // namespace
}  // namespace manta::controllers::raycluster
