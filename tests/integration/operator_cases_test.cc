// What users of the reference ran into with the operator as a whole, by the case's id. Cases of
// batch schedulers: scheduler_cases_test.cc. Those that need what is not here: README.md.
#include "base/yaml.h"
#include "case_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (const auto& name :
       {std::string("victim"), others_head, own_head, world.workers("other-c")[0]})
    world
        .patch("RayCluster", "c",
               group_of(1, fmt::format("scaleStrategy: {{workersToDelete: [{}]}}", name)))
        .settle();
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
