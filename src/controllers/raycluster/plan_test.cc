#include "controllers/raycluster/plan.h"

#include "controllers/raycluster/conditions.h"
#include "controllers/raycluster/notes.h"
#include "controllers/raycluster/testing.h"
#include "controllers/raycluster/worker_group.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace manta::controllers::raycluster {
namespace {

using namespace testing;
using kube::WriteKind;

// Every write as "verb resource lane", stages parted by "; ".
std::string writes(const kube::Plan& plan) {
  std::string text;
  for (const auto& stage : plan.stages) {
    if (stage.empty()) continue;
    std::string part;
    for (const auto& write : stage)
      part += fmt::format("{}{} {} ({})", part.empty() ? "" : ", ", to_string(write.kind),
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
                   const Settings& settings = {}, Time now = kNow) {
  const kube::Facts facts;
  return plan(seen, settings, {.now = now, .facts = facts, .failures = failures});
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
RayClusterSeen two_services() {
  auto out = bare();
  out.head_services = {head_service(), head_service()};
  return out;
}
RayClusterSeen taken() {
  auto out = bare();
  out.head_service_name_taken = true;
  return out;
}
PodPtr without_hash() {
  auto view = *head();
  view.meta.annotations.clear();
  return share(std::move(view));
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
     "create serviceaccounts (account), create roles (account); create rolebindings (binding); "
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
     "deletecollection pods (all-pods)"},
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
     "deletecollection pods (group/g)"},
    {"TwoHeadServices", edited(two_services(), [](auto&) {}), ""},
    {"SomebodyElsesServiceOfOurName", taken(), ""},
    {"ServeServiceNeedsAPort",
     edited(bare(),
            [](auto& c) {
              c.meta.annotations = {{"ray.io/enable-serve-service", "true"}};
              ensure(c.spec.headGroupSpec.template_, {"spec", "containers"})
                  .as_array()[0]
                  .as_object()["ports"] = JsonArray{JsonObject{{"containerPort", 1}}};
            }),
     "create services (services)"},
    {"HeadWithoutHashIsStamped",  // RC-33
     seen(cluster(), {without_hash(), worker("w0", {}, "0"), worker("w1", {}, "1")}),
     "patch pods (stamp)"},
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

// Were each group's share a whole plan's, they would take gigabytes together.
TEST(ClusterPlan, ManyLargeGroupsAreMadeSomePodsAtATime) {
  auto large = cluster(300'000);
  large.spec.workerGroupSpecs.front().maxReplicas = 300'000;
  const auto group = large.spec.workerGroupSpecs.front();
  for (int i = 1; i < 100; ++i) {
    large.spec.workerGroupSpecs.push_back(group);
    large.spec.workerGroupSpecs.back().groupName = fmt::format("g{}", i);
  }
  std::map<std::string, int> made;
  for (const auto& stage : plan_of(seen(large, {head()})).stages)
    for (const auto& write : stage)
      if (write.lane.starts_with("group/")) ++made[write.lane];
  EXPECT_EQ(made.size(), 100u);
  for (const auto& [lane, pods] : made) EXPECT_EQ(pods, kPodsAPlan / 100) << lane;
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

std::string message_of(const kube::Plan& plan, std::string_view type) {
  for (const auto& each : array_at(plan.status->body, {"status", "conditions"}))
    if (string_at(each, {"type"}) == type) return std::string(string_at(each, {"message"}));
  return "absent";
}

TEST(ClusterPlan, WhatKeepsItFromBeingReadyIsSaid) {
  auto view = *worker("w0", {.phase = kube::PodPhase::Pending, .ready = false});
  view.trouble = std::make_shared<const std::string>("Unschedulable: 0/3 nodes have a GPU");
  const auto plan = plan_of(seen(cluster(), {head(), share(view)}));
  EXPECT_EQ(condition(plan, kProvisioned), "False RayClusterPodsProvisioning");
  EXPECT_EQ(
      message_of(plan, kProvisioned),
      "RayCluster Pods are being provisioned for first time. Pod w0: Unschedulable: 0/3 nodes "
      "have a GPU");
  EXPECT_EQ(message_of(plan_of(seen(cluster(), {head({.ready = false})})), kProvisioned),
            "RayCluster Pods are being provisioned for first time");
}

TEST(ClusterPlan, AHeadThatCrashesAgainAndAgainSaysHowItEnded) {
  auto view = *head({.ready = false});
  view.ready->reason = "ContainersNotReady";
  view.ready->message = "containers with unready status: [ray]";
  auto& ray = view.containerStatuses.at(1);
  ray.waiting = std::make_shared<kube::WaitingState>(
      kube::WaitingState{.reason = "CrashLoopBackOff", .message = "back-off 10s"});
  ray.last_terminated = std::make_shared<kube::TerminatedState>(
      kube::TerminatedState{.exitCode = 137, .reason = "OOMKilled"});
  const auto plan = plan_of(seen(cluster(), {share(view)}));
  EXPECT_EQ(condition(plan, kHeadPodReady), "False CrashLoopBackOff");
  EXPECT_EQ(message_of(plan, kHeadPodReady),
            "containers with unready status: [ray]; ray: back-off 10s; before: exit code 137 "
            "(OOMKilled)");
}

TEST(ClusterPlan, CountsAloneWaitForTheSecondToEndWhileAClusterStarts) {
  using std::chrono::milliseconds;
  const auto at = [](int ms) { return kNow + milliseconds{ms}; };
  const auto first = plan_of(seen(cluster(), {head()}));
  const auto starting = with_status(cluster(), first);
  const auto one_more = seen(starting, {head(), worker("w0", {}, "0")});
  const auto soon = plan_of(one_more, {}, {}, at(300));
  EXPECT_FALSE(soon.status);
  EXPECT_EQ(soon.look_again, milliseconds{700});
  const auto later = plan_of(one_more, {}, {}, at(1000));
  ASSERT_TRUE(later.status);
  EXPECT_EQ(int_at(later.status->body, {"status", "readyWorkerReplicas"}), 1);
  EXPECT_TRUE(plan_of(one_more, {}, {}, at(-1)).status) << "a clock that is ahead holds nothing up";
  // Anything else takes the counts along.
  EXPECT_TRUE(plan_of(seen(starting, running_pods()), {}, {}, at(300)).status) << "ready";
  EXPECT_TRUE(plan_of(seen(starting, {worker("w0", {}, "0")}), {}, {}, at(300)).status)
      << "headless";
  const auto ready = with_status(cluster(), plan_of(seen(cluster(), running_pods())));
  EXPECT_TRUE(plan_of(seen(ready, {head(), worker("w0", {}, "0")}), {}, {}, at(300)).status);
}

TEST(ClusterPlan, AHeadThatTurnsReadyWhileAClusterStartsWaitsForTheOthersForASecond) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const auto starting = with_status(cluster(), plan_of(seen(cluster(), {head({.ready = false})})));
  auto view = *head();
  view.ready->lastTransitionTime = kNow + seconds{5};
  const auto pending = worker("w1", {.phase = kube::PodPhase::Pending, .ready = false}, "1");
  const auto turned = seen(starting, {share(view), worker("w0", {}, "0"), pending});
  const auto soon = plan_of(turned, {}, {}, kNow + milliseconds{5200});
  EXPECT_FALSE(soon.status);
  EXPECT_EQ(soon.look_again, milliseconds{800});
  EXPECT_EQ(condition(plan_of(turned, {}, {}, kNow + seconds{6}), kHeadPodReady),
            "True HeadPodRunningAndReady");
  EXPECT_TRUE(plan_of(seen(starting, {share(view), worker("w0", {}, "0"), worker("w1", {}, "1")}),
                      {}, {}, kNow + milliseconds{5200})
                  .status)
      << "all are ready";
  const auto was_ready = with_status(cluster(), plan_of(turned, {}, {}, kNow + seconds{6}));
  EXPECT_TRUE(plan_of(seen(was_ready, {head({.ready = false}), worker("w0", {}, "0"), pending}), {},
                      {}, kNow + milliseconds{6100})
                  .status)
      << "one that falls over is told at once";
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

TEST(ClusterPlan, OnlyABindingThatFailsAgainIsToldOf) {
  const auto scaled = edited(seen(cluster(), running_pods()),
                             [](auto& c) { c.spec.enableInTreeAutoscaling = true; });
  const auto binding = [&](const kube::Failures& failures) {
    return plan_of(scaled, failures).stages.at(1).at(0);
  };
  EXPECT_FALSE(binding({}).failed_event);
  const auto again = binding({{"binding", {.attempts = 1}}});
  ASSERT_TRUE(again.failed_event);
  EXPECT_EQ(again.failed_event->reason, "FailedToCreateRoleBinding");
}

TEST(ClusterPlan, ARouteOfSomebodyElseIsToldAndLeftAlone) {
  Settings openshift;
  openshift.openshift_routes = true;
  for (const bool taken : {false, true}) {
    auto there = edited(seen(cluster(), running_pods()),
                        [](auto& c) { c.spec.headGroupSpec.enableIngress = true; });
    there.route_name_taken = taken;
    const auto plan = plan_of(there, {}, openshift);
    EXPECT_EQ(writes(plan), taken ? "" : "create routes (ingress)");
    EXPECT_EQ(reasons(plan), taken ? "FailedToCreateRoute" : "");
  }
}

TEST(ClusterPlan, SuspensionGoesThroughItsConditions) {
  auto wanted = cluster();
  wanted.spec.suspend = true;
  auto step = plan_of(seen(wanted, running_pods()));
  EXPECT_EQ(condition(step, kSuspending), "True RayClusterSuspending");
  wanted = with_status(wanted, step);
  EXPECT_EQ(writes(plan_of(seen(wanted, running_pods()))), "deletecollection pods (all-pods)");
  wanted.spec.suspend = false;  // too late: it is carried out to the end
  EXPECT_EQ(writes(plan_of(seen(wanted, running_pods()))), "deletecollection pods (all-pods)");
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
            "deletecollection pods (all-pods)");
  EXPECT_EQ(writes(plan_of(seen(wanted, pods_with("v1.6.0", "other")))), "patch pods (stamp)");
}

// RC-44: one call by label would take them, too.
TEST(ClusterPlan, WhereSomebodyElsesPodsCarryTheLabelOnlyItsOwnGoOneByOne) {
  Pods pods{head(), worker("w0", {}, "0"), worker("w1", {.deleting = true}, "1")};
  const auto beside_foreign = [&](const ray::RayCluster& cluster) {
    auto out = seen(cluster, pods);
    out.foreign_pods = {"mine"};
    return plan_of(out);
  };
  auto asleep = cluster();
  asleep.status.conditions = {is_true(kSuspending)};
  const auto plan = beside_foreign(asleep);
  ASSERT_EQ(writes(plan), "delete pods (all-pods)");
  for (const auto& write : plan.stages.back()) {
    EXPECT_EQ(write.key.name, "w0");
    EXPECT_EQ(write.precondition_uid, write.key.name + "-uid");
    EXPECT_EQ(write.marker, "FailedDeleteAllPods");
    EXPECT_EQ(write.done_event.value().note,
              "Deleted Pods for RayCluster ns/c due to suspension: ns/" + write.key.name);
  }

  auto group_asleep = cluster();
  group_asleep.spec.workerGroupSpecs[0].suspend = true;
  EXPECT_EQ(writes(beside_foreign(group_asleep)), "delete pods (group/g)");

  auto dying = cluster();
  dying.spec.gcsFaultToleranceOptions = {.redisAddress = "r:6379"};
  dying.meta.finalizers = {std::string(ray::kFinalizerRedisCleanup)};
  dying.meta.deleting = kNow;
  EXPECT_EQ(writes(beside_foreign(dying)), "delete pods (all-pods), delete pods (all-pods)");

  auto changed = cluster();
  changed.spec.upgradeStrategy = {.type = "Recreate"};
  auto outdated = *head();
  outdated.meta.annotations = {{std::string(ray::kAnnotationVersion), Settings{}.build.version},
                               {std::string(ray::kAnnotationRecreateHash), "other"}};
  pods[0] = share(outdated);
  EXPECT_EQ(writes(beside_foreign(changed)), "delete pods (all-pods)");
  pods.resize(1);
  const auto last = beside_foreign(changed);
  ASSERT_EQ(writes(last), "delete pods (all-pods)");
  EXPECT_EQ(last.stages.back()[0].key.name, "c-head") << "by which the change is known";
}

// RC-31, RC-33: what it does not come to before the next change is lost.
TEST(ClusterPlan, TheHashIsStampedWhateverElseIsHeldUp) {
  const auto few = seen(cluster(), {without_hash(), worker("w0", {}, "0")});
  EXPECT_EQ(writes(plan_of(few)), "create pods (group/g), patch pods (stamp)");
  const auto with_ingress = edited(few, [](auto& c) { c.spec.headGroupSpec.enableIngress = true; });
  EXPECT_EQ(writes(plan_of(with_ingress)),
            "create ingresses (ingress); create pods (group/g), patch pods (stamp)");
  EXPECT_EQ(writes(plan_of(with_ingress, {{"ingress", {.attempts = 1}}})),
            "create ingresses (ingress), patch pods (stamp); create pods (group/g)");
  EXPECT_EQ(writes(plan_of(with_ingress, {{"stamp", {.attempts = 1}}})),
            "create ingresses (ingress); create pods (group/g), patch pods (stamp)")
      << "nothing waits for it";
  auto blocked = few;
  blocked.head_services = {head_service(), head_service()};
  EXPECT_EQ(writes(plan_of(blocked)), "patch pods (stamp)");
  const auto asleep = edited(few, [](auto& c) { c.status.conditions = {is_true(kSuspending)}; });
  EXPECT_EQ(writes(plan_of(asleep)), "deletecollection pods (all-pods)");
}

TEST(ClusterPlan, InvalidSpecIsSaidAndNothingElse) {
  auto bad = cluster();
  bad.spec.headGroupSpec.template_ = parse_json(R"({"spec":{"containers":[]}})").value();
  const auto plan = plan_of(seen(bad));
  EXPECT_EQ(reasons(plan), "InvalidRayClusterSpec");
  EXPECT_EQ(writes(plan), "");
}

TEST(ClusterPlan, UnreadableResourcesAreSaid) {  // SEEN-12
  auto odd = cluster();
  odd.spec.workerGroupSpecs[0].rayStartParams.emplace()["resources"] = "{";
  EXPECT_EQ(reasons(plan_of(seen(odd, running_pods()))), "InvalidRayClusterSpec");
}

// spec/02 §2: the warning is step 5, what refuses steps 4, 6, 7 and 8.
TEST(ClusterPlan, TheFirstAutoscalersWorkersAreWarnedOfBesideALaterRefusal) {
  auto warned = cluster();
  warned.spec.enableInTreeAutoscaling = true;
  warned.spec.autoscalerOptions.emplace().version = "v1";
  warned.spec.workerGroupSpecs[0].template_.at("spec").as_object()["restartPolicy"] = "Always";
  const auto events = [](const ray::RayCluster& cluster, const Settings& settings = {}) {
    std::string text;
    for (const auto& event : plan_of(seen(cluster), {}, settings).events)
      if (event.reason.starts_with("Invalid"))
        text +=
            fmt::format("{}: {}; ", event.reason, event.note.substr(0, event.note.find(" ns/")));
    return text;
  };
  const std::string warning = "InvalidRayClusterSpec: RayCluster spec warning; ";
  EXPECT_EQ(events(warned), warning);
  auto upgraded = warned;
  upgraded.spec.upgradeStrategy.emplace().type = "Sideways";
  EXPECT_EQ(events(upgraded),
            warning + "InvalidRayClusterSpec: The RayCluster UpgradeStrategy is invalid; ");
  auto sealed = warned;
  sealed.spec.tlsOptions = ray::TlsOptions{.enabled = true};
  Settings without_cert_manager;
  without_cert_manager.build.mtls = true;
  EXPECT_EQ(events(sealed, without_cert_manager),
            warning + "InvalidRayClusterSpec: The RayCluster spec is invalid; ");
  auto torn = warned;
  for (const auto* type : {"RayClusterSuspending", "RayClusterSuspended"})
    torn.status.conditions.push_back({.type = type, .status = "True"});
  EXPECT_EQ(events(torn), warning + "InvalidRayClusterStatus: The RayCluster status is invalid; ");
  auto shapeless = warned;
  shapeless.spec.workerGroupSpecs[0].minReplicas = 50;
  EXPECT_EQ(events(shapeless), "InvalidRayClusterSpec: The RayCluster spec is invalid; ")
      << "before step 5";
}

TEST(ClusterPlan, GroupNamesThatNeverSettleAreRefused) {  // RC-13, SEEN-04
  auto twice = cluster();
  twice.spec.workerGroupSpecs.push_back(twice.spec.workerGroupSpecs[0]);
  EXPECT_EQ(reasons(plan_of(seen(twice))), "InvalidRayClusterSpec");
  auto heads = cluster();
  heads.spec.workerGroupSpecs[0].groupName = "headgroup";
  EXPECT_EQ(reasons(plan_of(seen(heads))), "InvalidRayClusterSpec");
}

// SEEN-08, RC-16: nothing is done about it, but what it is, and why, is told.
TEST(ClusterPlan, InvalidSpecShowsInTheStatus) {
  auto bad = cluster();
  bad.spec.workerGroupSpecs[0].minReplicas = 50;
  bad.meta.generation = 4;
  auto unborn = seen(bad);
  unborn.head_services.clear();
  EXPECT_EQ(canonical_json(*find(plan_of(unborn).status->body, {"status", "conditions"})),
            R"([{"lastTransitionTime":"2027-01-15T08:00:00Z","message":"worker group g has )"
            R"(minReplicas 50 greater than maxReplicas 10","observedGeneration":4,)"
            R"("reason":"InvalidRayClusterSpec","status":"True","type":"InvalidSpec"}])");
  EXPECT_EQ(object_at(plan_of(unborn).status->body, {"status"}).size(), 1u);

  const auto ready = with_status(cluster(), plan_of(seen(cluster(), running_pods())));
  bad.status = ready.status;
  const auto died = plan_of(seen(bad, {worker("w0", {}, "0")}));
  EXPECT_EQ(writes(died), "");
  EXPECT_EQ(condition(died, kHeadPodReady), "False HeadPodNotFound");
  EXPECT_EQ(condition(died, kInvalidSpec), "True InvalidRayClusterSpec");
  EXPECT_EQ(int_at(died.status->body, {"status", "readyWorkerReplicas"}), 1);
  EXPECT_EQ(int_at(died.status->body, {"status", "desiredWorkerReplicas"}), 2);
  EXPECT_EQ(int_at(died.status->body, {"status", "observedGeneration"}), 4);

  const auto mended = with_status(bad, died);
  auto good = cluster();
  good.status = mended.status;
  EXPECT_EQ(condition(plan_of(seen(good, running_pods())), kInvalidSpec), "absent");
}

// What the reference does not say. RC-06, RC-12, RC-26, RC-27, RC-44, AS-07
TEST(ClusterPlan, NotesAreThereWhileTheirCauseIs) {
  struct Row {
    const char* name;
    RayClusterSeen seen;
    std::string_view type;
    const char* want;
  };
  auto stranger = seen(cluster(), running_pods());
  stranger.foreign_pods = {"mine"};
  auto orphan = *worker("o");
  orphan.meta.labels["ray.io/group"] = "gone";
  auto pods = running_pods();
  pods.push_back(share(orphan));
  auto late = *head({.deleting = true});
  late.meta.deleting = kNow - std::chrono::seconds{31};
  auto no_token = edited(seen(cluster(), running_pods()),
                         [](auto& c) { c.spec.authOptions = {.mode = "token"}; });
  no_token.auth_secret = std::make_shared<kube::SecretView>();
  const Row rows[] = {
      {"Settled", seen(cluster(), running_pods()), kForeignPods, "absent"},
      {"MadeByHand", stranger, kForeignPods, "True PodsNotOwned"},
      {"GroupRemoved", seen(cluster(), pods), kOrphanedWorkerGroup, "True GroupNotInSpec"},
      {"NameTaken", taken(), kNameConflict, "True ServiceNotOwned"},
      {"SecretOfAnotherKind", no_token, kNameConflict, "True SecretWithoutToken"},
      {"HeadIsGoing", seen(cluster(), {head({.deleting = true})}), kHeadTerminating, "absent"},
      {"HeadDoesNotGo", seen(cluster(), {share(late)}), kHeadTerminating, "True DeletionPending"},
      {"OneHead", seen(cluster(), running_pods()), kMultipleHeads, "absent"},
      {"TwoHeads", seen(cluster(), {head({}, "a"), head({}, "b")}), kMultipleHeads,
       "True HeadNotUnique"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(condition(plan_of(row.seen), row.type), row.want) << row.name;
  EXPECT_EQ(plan_of(seen(cluster(), {head({.deleting = true})})).look_again,
            std::chrono::seconds{30});
}

// SEEN-01: else a cluster whose group goes before it was ready never is.
TEST(ClusterPlan, WorkersOfARemovedGroupAreNotWaitedFor) {
  auto orphan = *worker("o", {.phase = kube::PodPhase::Pending, .ready = false});
  orphan.meta.labels["ray.io/group"] = "gone";
  auto pods = running_pods();
  pods.push_back(share(orphan));
  const auto state = [](const kube::Plan& plan) {
    return string_at(plan.status->body, {"status", "state"});
  };
  EXPECT_EQ(state(plan_of(seen(cluster(), pods))), "ready");
  pods.pop_back();
  pods.pop_back();
  pods.push_back(share(orphan));
  EXPECT_EQ(state(plan_of(seen(cluster(), pods))), "") << "it takes nobody's place";

  Settings gates;
  gates.cluster_gates.strict_provisioned = true;
  orphan.phase = kube::PodPhase::Running;
  orphan.ready->status = "True";
  EXPECT_EQ(
      condition(plan_of(seen(cluster(), {head(), worker("w0", {}, "0"), share(orphan)}), {}, gates),
                kProvisioned),
      "False RayClusterPodsProvisioning");
  for (const auto phase : {kube::PodPhase::Running, kube::PodPhase::Pending}) {
    orphan.phase = phase;
    orphan.ready->status = phase == kube::PodPhase::Running ? "True" : "False";
    pods = running_pods();
    pods.push_back(share(orphan));
    EXPECT_EQ(condition(plan_of(seen(cluster(), pods), {}, gates), kProvisioned),
              "True AllPodRunningAndReadyFirstTime");
  }
}

// The reference says it in its log alone, and tells nothing of the cluster from then on.
TEST(ClusterPlan, TwoHeadsAreToldOnceAndWorkersAreCountedOn) {
  const auto ready = with_status(cluster(), plan_of(seen(cluster(), running_pods())));
  const Pods pods{head({}, "a"), head({.ready = false}, "b"), worker("w0", {}, "0")};
  const auto told = plan_of(seen(ready, pods));
  EXPECT_EQ(writes(told), "") << "either may hold what users run";
  EXPECT_EQ(reasons(told), "MultipleHeads");
  ASSERT_EQ(told.events.size(), 1u);
  EXPECT_EQ(told.events[0].type, kube::EventType::Warning);
  EXPECT_NE(told.events[0].note.find("a, b"), std::string::npos);
  EXPECT_EQ(condition(told, kMultipleHeads), "True HeadNotUnique");
  EXPECT_EQ(int_at(told.status->body, {"status", "readyWorkerReplicas"}), 1);
  EXPECT_EQ(string_at(told.status->body, {"status", "head", "podName"}), "c-head") << "as before";
  EXPECT_EQ(condition(told, kHeadPodReady), "True HeadPodRunningAndReady");

  const auto again = plan_of(seen(with_status(ready, told), pods));
  EXPECT_EQ(reasons(again), "");
  EXPECT_FALSE(again.status);
  const auto mended = plan_of(seen(with_status(ready, told), running_pods()));
  EXPECT_EQ(condition(mended, kMultipleHeads), "absent");
}

TEST(ClusterPlan, WhatAClusterOfThatNameLeftBehindIsItsOwn) {
  auto left = *head();
  left.meta.owners.clear();
  const auto plan =
      plan_of(seen(cluster(), {share(left), worker("w0", {}, "0"), worker("w1", {}, "1")}));
  EXPECT_EQ(writes(plan), "patch pods (adopt)");
  EXPECT_EQ(string_at(plan.status->body, {"status", "state"}), "ready");
}

TEST(ClusterPlan, QuotaRefusal) {  // RC-11, AS-07
  const kube::Failures failures = {
      {"group/g",
       {.marker = "FailedCreateWorkerPod",
        .error = {.code = ErrorCode::Forbidden, .message = "exceeded quota: small"}}}};
  const auto plan = plan_of(seen(cluster(), {head()}), failures);
  EXPECT_EQ(condition(plan, kReplicaFailure), "True FailedCreateWorkerPod");
  EXPECT_NE(dump_json(plan.status->body).find("QuotaExceeded: exceeded quota: small"),
            std::string::npos);
  EXPECT_EQ(condition(plan, kQuotaExceeded), "absent");
  Settings gates;
  gates.cluster_gates.quota_condition = true;
  EXPECT_EQ(condition(plan_of(seen(cluster(), {head()}), failures, gates), kQuotaExceeded),
            "True QuotaExceeded");
  EXPECT_EQ(condition(plan_of(seen(cluster(), running_pods()), failures, gates), kQuotaExceeded),
            "absent")
      << "nobody wants more than is there any more";
}

TEST(ClusterPlan, GatesOfOurOwn) {
  Settings gates;
  gates.cluster_gates = {
      .strict_provisioned = true, .delete_orphans = true, .suspend_services = true};
  // SEEN-03: a head that runs alone is no cluster yet.
  EXPECT_EQ(condition(plan_of(seen(cluster(), {head()})), kProvisioned),
            "True AllPodRunningAndReadyFirstTime");
  EXPECT_EQ(condition(plan_of(seen(cluster(), {head()}), {}, gates), kProvisioned),
            "False RayClusterPodsProvisioning");
  // RC-12
  auto orphan = *worker("o");
  orphan.meta.labels["ray.io/group"] = "gone";
  auto pods = running_pods();
  pods.push_back(share(orphan));
  EXPECT_EQ(writes(plan_of(seen(cluster(), pods))), "");
  EXPECT_EQ(writes(plan_of(seen(cluster(), pods), {}, gates)), "delete pods (orphans)");
  // RC-19
  auto asleep = cluster();
  asleep.spec.suspend = true;
  asleep.status.conditions = {is_true(kSuspended)};
  auto service = *head_service();
  service.meta.owners = {{"ray.io/v1", "RayCluster", "c", "c-uid", true, true}};
  auto world = seen(asleep);
  world.head_services = {std::make_shared<const kube::ServiceView>(service)};
  EXPECT_EQ(writes(plan_of(world)), "");
  EXPECT_EQ(writes(plan_of(world, {}, gates)), "delete services (services)");
  asleep.spec.suspend = false;
  auto waking = seen(asleep);
  waking.head_services.clear();
  EXPECT_EQ(writes(plan_of(waking, {}, gates)), "create services (services)");
}

TEST(ClusterPlan, RedisIsNotWaitedForWhereItCannotBeCleaned) {  // FT-01, FT-04
  auto dying = cluster(0);
  dying.spec.gcsFaultToleranceOptions = {.redisAddress = "r:6379"};
  dying.meta.finalizers = {std::string(ray::kFinalizerRedisCleanup)};
  dying.meta.deleting = kNow;
  const kube::Failures failures = {
      {"cleanup",
       {.error = {.code = ErrorCode::Forbidden, .message = "namespace ns is being terminated"}}}};
  const auto freed = plan_of(seen(dying), failures);
  ASSERT_EQ(writes(freed), "patch rayclusters (finalizer)");
  EXPECT_NE(freed.stages[0][0].done_event->note.find("\"c-uid\""), std::string::npos);
  dying.spec.gcsFaultToleranceOptions.reset();
  const auto forgotten = plan_of(seen(dying));
  ASSERT_EQ(writes(forgotten), "patch rayclusters (finalizer)");
  EXPECT_EQ(forgotten.stages[0][0].done_event->reason, "ForceDeletedStuckCluster");
  EXPECT_NE(forgotten.stages[0][0].done_event->note.find("namespace (unknown) may need"),
            std::string::npos);
  auto told = *head();
  told.meta.annotations[std::string(ray::kAnnotationExternalStorageNamespace)] = "store";
  const auto remembered = plan_of(seen(dying, {share(told)})).stages[0][0];
  for (const auto& text : {remembered.done_event->note, remembered.why})
    EXPECT_NE(text.find("namespace \"store\" may need"), std::string::npos) << text;
}

TEST(ClusterPlan, RedisIsCleanedBeforeTheClusterGoes) {
  auto dying = cluster(0);
  dying.spec.gcsFaultToleranceOptions = {.redisAddress = "r:6379"};
  dying.meta.finalizers = {std::string(ray::kFinalizerRedisCleanup)};
  dying.meta.deleting = kNow;
  EXPECT_EQ(writes(plan_of(seen(dying, {head()}))), "deletecollection pods (all-pods)");
  EXPECT_EQ(writes(plan_of(seen(dying, {head({.deleting = true})}))), "");
  EXPECT_EQ(writes(plan_of(seen(dying))), "create jobs (cleanup)");
  auto cleaned = seen(dying);
  cleaned.cleanup_jobs = {std::make_shared<const kube::JobView>(
      kube::JobView{.conditions = {{.type = "Complete", .status = "True"}}})};
  EXPECT_EQ(writes(plan_of(cleaned)), "patch rayclusters (finalizer)");
  dying.meta.deleting = kNow - std::chrono::seconds{301};  // FT-07: whatever holds the head up
  EXPECT_EQ(writes(plan_of(seen(dying, {head({.deleting = true})}))),
            "patch rayclusters (finalizer)");
  // Cleaned, but somebody's head is in the way: that it goes is an event.
  auto late = seen(dying, {head({.deleting = true})});
  late.cleanup_jobs = cleaned.cleanup_jobs;
  EXPECT_FALSE(plan_of(late).look_again);
}

}  // namespace
}  // namespace manta::controllers::raycluster
