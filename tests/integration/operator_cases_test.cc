// What users of the reference ran into with the operator as a whole, by the case's id. Cases of
// batch schedulers: scheduler_cases_test.cc. Those that need what is not here: README.md.
#include "base/yaml.h"
#include "case_tools.h"
#include "service_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string with(std::string text, std::string_view at, std::string_view more) {
  const auto place = text.find(at);
  MANTA_CHECK(place != std::string::npos);
  return text.insert(place + at.size(), more);
}

// What Kueue does to a RayJob: it holds it, lets it go onto the nodes of a flavour, and takes it
// back.
TEST(KueueCase, BS_06_AnAdmittedJobRunsAndAPreemptedOneHoldsNothing) {
  World world;
  world.apply(with(kJob, "spec:\n", "  suspend: true\n"));
  world.run_until(job_is("j", "Suspended")).settle();
  EXPECT_EQ(world.mirror().created("Pod"), 0);
  world.patch("RayJob", "j", R"({spec: {suspend: false, rayClusterSpec: {headGroupSpec: {template: {
      spec: {nodeSelector: {flavour: spot}}}}}}})");
  const auto has_pods = [](std::size_t count) {
    return Until{fmt::format("{} Pods of a cluster", count),
                 [count](const World& w) { return w.mirror().list("Pod").size() >= count; }};
  };
  world.run_until(has_pods(2), 2s);
  for (const auto* cluster : world.mirror().list("RayCluster"))
    EXPECT_FALSE(bool_at(*cluster, {"spec", "suspend"}));
  for (const auto* pod : world.mirror().list("Pod"))
    if (string_at(*pod, {"metadata", "labels", "ray.io/node-type"}) == "head")
      EXPECT_EQ(string_at(*pod, {"spec", "nodeSelector", "flavour"}), "spot");
  world.run_until(job_is("j", "Running")).settle();
  world.patch("RayJob", "j", "{spec: {suspend: true}}");
  world.run_until({"no Pod is left that asks for anything",
                   [](const World& w) {
                     for (const auto* pod : w.mirror().list("Pod"))
                       if (!find(*pod, {"metadata", "deletionTimestamp"})) return false;
                     return true;
                   }},
                  2s);
  world.run_until(job_is("j", "Suspended")).settle();
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

// What Kueue does to an elastic RayJob: each Pod waits behind a gate, which goes when its slice of
// the workload is admitted. A scripted Kueue: that much of its contract, and not Kueue itself.
TEST(KueueCase, BS_08_AnElasticJobGrowsByTheSliceAndIsToldWhenItMayNot) {
  constexpr const char* kElastic = R"(
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: e
  labels: {kueue.x-k8s.io/queue-name: q}
  annotations: {kueue.x-k8s.io/elastic-job: "true"}
spec:
  entrypoint: python a.py
  suspend: true
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    rayVersion: "2.54.0"
    enableInTreeAutoscaling: true
    headGroupSpec:
      template: {spec: {containers: [{name: h, image: ray}]}}
    workerGroupSpecs:
    - groupName: g
      replicas: 1
      minReplicas: 1
      maxReplicas: 5
      template:
        spec:
          schedulingGates: [{name: kueue.x-k8s.io/elastic-job}]
          containers: [{name: w, image: ray}]
)";
  for (const bool gate : {true, false}) {
    World world({.feature_gates = gate ? "RayClusterQuotaCondition=true" : ""});
    world.kubelet().hold({{"ray.io/group", "g"}});
    const auto cluster = [&world] {
      return std::string(string_at(*world.mirror().list("RayCluster").at(0), {"metadata", "name"}));
    };
    const auto told = [&] { return condition_of(world, cluster(), "QuotaExceeded"); };
    const auto admit = [&world] {  // takes the gates away, and the node starts what was held
      for (const auto* pod : world.mirror().list("Pod"))
        if (find(*pod, {"spec", "schedulingGates"}))
          world.patch("Pod", string_at(*pod, {"metadata", "name"}),
                      "{spec: {schedulingGates: null}}");
      world.kubelet().release();
      world.kubelet().hold({{"ray.io/group", "g"}});
    };
    world.apply(kElastic).run_until(job_is("e", "Suspended")).settle();
    world.patch("RayJob", "e", "{spec: {suspend: false}}").pass(2s);
    ASSERT_EQ(world.workers(cluster()).size(), 1u);
    const auto* held = world.mirror().find("Pod", world.workers(cluster())[0]);
    EXPECT_EQ(string_at(array_at(*held, {"spec", "schedulingGates"})[0], {"name"}),
              "kueue.x-k8s.io/elastic-job");
    const auto made = world.get("RayCluster", cluster());
    EXPECT_EQ(string_at(made, {"metadata", "annotations", "kueue.x-k8s.io/elastic-job"}), "true");
    EXPECT_EQ(string_at(made, {"metadata", "labels", "kueue.x-k8s.io/queue-name"}), "q");
    EXPECT_EQ(told(), gate ? "True SchedulingGated" : "absent");

    admit();
    world.run_until(job_is("e", "Running")).settle();
    EXPECT_EQ(told(), "absent");
    const auto first = world.workers(cluster());

    // The autoscaler asks for two more, for which there is no room yet.
    auto groups = made.at("spec").at("workerGroupSpecs").as_array();
    groups[0].as_object()["replicas"] = 3;
    world.patch("RayCluster", cluster(), dump_json({{"spec", {{"workerGroupSpecs", groups}}}}))
        .settle();
    EXPECT_EQ(told(), gate ? "True SchedulingGated" : "absent");
    EXPECT_EQ(world.workers(cluster()).size(), 3u);
    EXPECT_TRUE(world.mirror().find("Pod", first[0])) << "what was admitted runs on";
    EXPECT_EQ(string_at(world.get("RayJob", "e"), {"status", "jobDeploymentStatus"}), "Running");

    admit();
    world.run_until(cluster_is(cluster(), "ready")).settle();
    EXPECT_EQ(told(), "absent");
    world.run_until(has_workers(cluster(), 3));
  }
}

TEST(SecurityCase, SEC_01_StrictModeRefusesWhatAShellActsOn) {
  for (const bool gate : {true, false}) {
    World world({.feature_gates = gate ? "RayClusterStrictParams=true" : ""});
    auto text = std::string(kCluster);
    text.replace(text.find("rayStartParams: {}"), 18,
                 R"(rayStartParams: {num-cpus: "1; id", resources: '"{\"a\":1, \"b\":2}"'})");
    world.apply(text).settle();
    EXPECT_EQ(world.mirror().created("Pod"), gate ? 0 : 3);
    EXPECT_EQ(condition_of(world, "c", "InvalidSpec"),
              gate ? "True InvalidRayClusterSpec" : "absent");
    if (!gate) continue;
    world.patch("RayCluster", "c", "{spec: {headGroupSpec: {rayStartParams: {num-cpus: '1'}}}}")
        .run_until(cluster_is("c", "ready"));
  }
}

TEST(SecurityCase, SEC_01_LegitimateJsonInStartParametersArrivesAsItIs) {
  const std::pair<const char*, const char*> cases[] = {
      {R"('{"a":1}')", R"(--resources={"a":1})"},
      {R"("'{\"a\":1}'")", R"(--resources='{"a":1}')"},
      {R"y('"{\"x\":1, \"y\":2}"')y", R"y(--resources="{\"x\":1, \"y\":2}")y"},
  };
  for (const auto& [given, want] : cases) {
    World world;
    auto text = std::string(kCluster);
    text.replace(text.find("rayStartParams: {}"), 18,
                 fmt::format("rayStartParams: {{resources: {}}}", given));
    world.apply(text).run_until(cluster_is("c", "ready"));
    EXPECT_THAT(dump_json(world.get("Pod", world.head("c"))),
                HasSubstr(dump_json(Json(want)).substr(1, dump_json(Json(want)).size() - 2)));
  }
}

TEST(SecurityCase, SEC_02_OnlyPodsOfTheGroupCanBeNamedForDeletion) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.apply(with(kCluster, "metadata: {name: ", "other-"))
      .run_until(cluster_is("other-c", "ready"));
  world.apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: victim}, spec: {containers: [{name: c, "
      "image: i}]}}");
  world.settle();
  const auto others_head = world.head("other-c");
  const auto own_head = world.head("c");
  const auto others_worker = world.workers("other-c")[0];
  const auto own_worker = world.workers("c")[0];
  for (const auto& names :
       {std::string("victim"), others_head, own_head, others_worker, own_worker + ", no-such-pod"})
    world
        .patch("RayCluster", "c",
               group_of(1, fmt::format("scaleStrategy: {{workersToDelete: [{}]}}", names)))
        .settle();
  std::vector<std::string> told;
  for (const auto& event : world.events("c"))
    if (event.starts_with("FailedToDeleteWorkerPod")) told.push_back(event);
  std::vector<std::string> want;
  for (const auto& name : {others_head, own_head, others_worker})
    want.push_back(
        fmt::format("FailedToDeleteWorkerPod Failed deleting pod default/{}, "
                    "workersToDelete of group g names it, but it is none of its Pods",
                    name));
  EXPECT_THAT(told, ::testing::UnorderedElementsAreArray(want)) << "what is gone is no news";
  EXPECT_TRUE(world.mirror().find("Pod", "victim"));
  EXPECT_EQ(world.head("other-c"), others_head);
  EXPECT_EQ(world.head("c"), own_head);
  EXPECT_EQ(world.workers("other-c").size(), 2u);
}

TEST(SecurityCase, SEC_05_TheHeadsTokenIsForItsOwnClusterUnderItsGate) {
  World world({.feature_gates = "RayClusterScopedAutoscalerRole=true"});
  world.apply(with(kCluster, "spec:\n", "  enableInTreeAutoscaling: true\n"))
      .run_until(cluster_is("c", "ready"));
  for (const auto& rule : array_at(world.get("Role", "c"), {"rules"})) {
    const auto resources = dump_json(*find(rule, {"resources"}));
    if (resources == R"(["rayclusters"])")
      EXPECT_EQ(dump_json(*find(rule, {"resourceNames"})), R"(["c"])");
    else
      EXPECT_EQ(dump_json(*find(rule, {"verbs"})), R"(["get","list","watch"])") << resources;
  }
}

// Ray's dashboards answer after ten minutes.
class Hangs final : public kube::Outside {
 public:
  Hangs(kube::Outside& ray, Loop*& loop, int& asked) : ray_(ray), loop_(loop), asked_(asked) {}
  Task<Result<Json>> call(std::string target, Json request) override {
    ++asked_;
    co_await sleep(*loop_, 10min, {});
    co_return co_await ray_.call(std::move(target), std::move(request));
  }

 private:
  kube::Outside& ray_;
  Loop*& loop_;
  int& asked_;
};

// The Secret that the head of the serving cluster has its token from, and the token.
std::pair<std::string, std::string> token_of(const ServiceWorld& world) {
  const auto head = world.get("Pod", world.head(world.active()));
  std::string name;
  for (const auto& env : array_at(array_at(head, {"spec", "containers"})[0], {"env"}))
    if (string_at(env, {"name"}) == "RAY_AUTH_TOKEN")
      name = string_at(env, {"valueFrom", "secretKeyRef", "name"});
  const auto* secret = world.mirror().find("Secret", name);
  return {name, secret ? std::string(string_at(*secret, {"data", "auth_token"})) : ""};
}

TEST(SecurityCase, SEC_08_AClientKeepsItsTokenThroughUpgradesUnderItsGate) {
  for (const bool gate : {true, false}) {
    ServiceWorld world({.feature_gates = gate ? "RayServiceSharedToken=true" : ""});
    world.deploy(with(kService, "rayClusterConfig:\n", "    authOptions: {mode: token}\n"));
    std::set<std::pair<std::string, std::string>> tokens = {token_of(world)};
    for (const auto* image : {"two", "three"}) {
      world.set_image(image).run_until(upgraded("s")).pass(2min).settle();
      tokens.insert(token_of(world));
    }
    EXPECT_EQ(tokens.size(), gate ? 1u : 3u);
    for (const auto& [name, token] : tokens) {
      EXPECT_EQ(name == "s-auth-token", gate) << name;
      EXPECT_FALSE(token.empty());
    }
    world.expect_rest();
    const auto last = token_of(world).first;
    world.remove("RayService", "s").run_until(is_gone("Secret", last)).settle();
  }
}

TEST(PerformanceCase, PF_01_DashboardsThatHangKeepNobodyWaiting) {
  Loop* loop = nullptr;
  int asked = 0;
  World world({.tamper_ray = [&](kube::Outside& ray) {
    return std::make_unique<Hangs>(ray, loop, asked);
  }});
  loop = &world.loop();
  for (int i = 0; i < 100; ++i) {
    auto job = with(kJob, "spec:\n", "  submissionMode: HTTPMode\n");
    world.apply(with(job, "metadata: {name: j", std::to_string(i)));
  }
  world.run_until(job_is("j99", "Running")).pass(10s);
  EXPECT_GE(asked, 64) << "as many as may be asked at once, and none has answered";
  world.apply(kCluster).run_until(
      {"its Pods",
       [](const World& w) { return !w.head("c").empty() && w.workers("c").size() == 2; }},
      100ms);
}

}  // namespace
}  // namespace manta::integration
