// An operator that starts over what KubeRay has written. The conformance records say that our
// objects are KubeRay's but for what they mask; of that, planners read the operator's version and
// the hashes of specs (KubeRay's are taken over another text), and clusters' specs are in the typed
// form that KubeRay writes. Whatever stands there, no running Pod is touched.
#include "manifests.h"
#include "service_world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr const char* kVersion = "ray.io/kuberay-version";
constexpr const char* kSpecHash = "ray.io/hash-without-replicas-and-workers-to-delete";
constexpr const char* kRecreateHash = "ray.io/upgrade-strategy-recreate-hash";

void make_object(Json& value, std::string_view key) {
  auto& member = ensure(value, {key});
  if (member.is_null()) member = JsonObject{};
}

// Go's typed form: empty objects are written, quantities are canonical.
void type_template(Json& pod_template) {
  make_object(pod_template, "metadata");
  for (auto& container : ensure(pod_template, {"spec", "containers"}).as_array()) {
    make_object(container, "resources");
    for (const auto* list : {"limits", "requests"})
      if (const auto* quantities = find(container, {"resources", list}))
        for (const auto& [name, value] : quantities->as_object())
          if (value == "1000m") ensure(container, {"resources", list, name}) = "1";
  }
}

void type_spec(Json& spec) {
  type_template(ensure(spec, {"headGroupSpec", "template"}));
  make_object(ensure(spec, {"headGroupSpec"}), "rayStartParams");
  if (find(spec, {"workerGroupSpecs"}) == nullptr) return;
  for (auto& group : ensure(spec, {"workerGroupSpecs"}).as_array()) {
    type_template(ensure(group, {"template"}));
    make_object(group, "rayStartParams");
    make_object(group, "scaleStrategy");
  }
}

/// What the stopped operator has written becomes what KubeRay would have. Its hashes are of
/// KubeRay's length and alphabet, and of no text of ours.
void rewrite_as_kuberay(World& world) {
  std::vector<Json> found;
  for (const auto* object : world.mirror().all()) found.push_back(*object);
  for (const auto& object : found) {
    const auto& annotations = object_at(object, {"metadata", "annotations"});
    if (!annotations.contains(kVersion)) continue;
    JsonObject changed{{kVersion, "v1.7.0"}};
    for (const auto* hash : {kSpecHash, kRecreateHash})
      if (annotations.contains(hash)) changed[hash] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
    Json patch{{"metadata", {{"annotations", std::move(changed)}}}};
    const auto kind = string_at(object, {"kind"});
    if (kind == "RayCluster") {
      patch.as_object()["spec"] = *find(object, {"spec"});
      type_spec(patch.as_object()["spec"]);
    }
    ASSERT_TRUE(world.merge(kind, name_of(object), std::move(patch)));
  }
}

/// Everything that happens to Pods from now on but for what a node says of them.
std::shared_ptr<std::vector<std::string>> watch_pods(World& world) {
  auto seen = std::make_shared<std::vector<std::string>>();
  const auto written = [](Json pod) {
    auto& object = pod.as_object();
    object.erase("status");
    for (const auto* field : {"resourceVersion", "managedFields", "generation"})
      ensure(pod, {"metadata"}).as_object().erase(field);
    return dump_json(pod);
  };
  world.mirror().listen([=](const Change& change) {
    if (string_at(change.newest(), {"kind"}) != "Pod") return;
    const auto name = name_of(change.newest());
    if (change.before.is_null())
      seen->push_back("created " + name);
    else if (change.after.is_null() || is_deleting(change.after))
      seen->push_back("deleted " + name);
    else if (written(change.before) != written(change.after))
      seen->push_back("changed " + name);
  });
  return seen;
}

std::vector<std::string> taken_over(World& world, Duration span = 10min) {
  world.stop_operator();
  rewrite_as_kuberay(world);
  const auto seen = watch_pods(world);
  world.start_operator().pass(span).settle();
  return *seen;
}

TEST(TakeOver, OfARayClusterNoPodIsTouched) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready")).settle();
  EXPECT_THAT(taken_over(world), ElementsAre());
  // And it is the operator's own from now on.
  world.patch("RayCluster", "c", fmt::format(fmt::runtime(kGroup), 3))
      .run_until(has_workers("c", 3));
  world.settle();
}

TEST(TakeOver, OfSeveralHostsAReplicaNoPodIsTouched) {
  World world;
  std::string yaml = kCluster;
  yaml.insert(yaml.find("    replicas: 2"), "    numOfHosts: 2\n");
  world.apply(yaml).run_until(has_workers("c", 4)).settle();
  EXPECT_THAT(taken_over(world), ElementsAre());
}

// Upstream, too, absorbs what changed across a change of the operator's version.
TEST(TakeOver, WithStrategyRecreateTheHeadIsStampedAndNothingIsRecreated) {
  World world;
  world.apply(std::string(kCluster) + "  upgradeStrategy: {type: Recreate}\n")
      .run_until(cluster_is("c", "ready"))
      .settle();
  EXPECT_THAT(taken_over(world), ElementsAre("changed " + world.head("c")));
  world.expect_rest();
}

TEST(TakeOver, OfARunningRayJobNoPodIsTouched) {
  World world;
  world.apply(kJob).run_until(ray_job_is("j", "RUNNING")).settle();
  EXPECT_THAT(taken_over(world), ElementsAre());
  EXPECT_EQ(world.ray().submissions().size(), 1u);
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
}

// kService as people write it: a CPU in thousandths.
std::string service_yaml(const char* base) {
  std::string yaml = base;
  yaml.replace(yaml.find("cpu: \"1\""), 8, "cpu: 1000m");
  return yaml;
}

struct Running {
  const char* name;
  bool gateway;
};
class TakeOverService : public testing::TestWithParam<Running> {};

TEST_P(TakeOverService, NoPodIsTouchedAndTheClusterIsItsOwn) {
  ServiceWorld world;
  if (GetParam().gateway) world.serve_gateway_api();
  world.deploy(service_yaml(GetParam().gateway ? kIncrementalService : kService)).settle();
  const auto cluster = world.active();
  EXPECT_THAT(taken_over(world), ElementsAre());
  EXPECT_EQ(world.active(), cluster);
  EXPECT_EQ(world.pending(), "");
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  EXPECT_EQ(world.condition("Ready"), "True NonZeroServeEndpoints");
  world.expect_rest();
  world.set_image("two").run_until(upgraded("s")).settle();
  EXPECT_NE(world.active(), cluster) << "later changes count";
}
INSTANTIATE_TEST_SUITE_P(, TakeOverService,
                         testing::Values(Running{"AtOnce", false}, Running{"InSteps", true}),
                         [](const auto& info) { return info.param.name; });

// In the middle of an upgrade both clusters are KubeRay's, and the new one is still wanted.
TEST(TakeOver, InMidUpgradeThePendingClusterGoesOn) {
  ServiceWorld world;
  world.deploy(service_yaml(kService));
  const auto old = world.active();
  world.serve().says["a"] = "DEPLOYING";
  world.set_image("two").run_until(
      {"both are there", [&](const World&) { return world.clusters().size() == 2; }});
  world.pass(30s);
  const auto next = world.pending();
  EXPECT_THAT(taken_over(world, 5min), ElementsAre());
  EXPECT_EQ(world.pending(), next);
  EXPECT_EQ(world.active(), old);
  world.serve().says.clear();
  world.run_until(upgraded("s")).settle();
  EXPECT_EQ(world.active(), next);
  EXPECT_EQ(world.mirror().created("RayCluster"), 2);
}

TEST(TakeOver, InTheMiddleOfStepsTheyGoOn) {
  ServiceWorld world;
  world.serve_gateway_api().deploy(service_yaml(kIncrementalService));
  const auto old = world.active();
  world.set_image("two").run_until({"half of the traffic has moved", [&](const World&) {
                                      const auto weights = world.weights();
                                      return weights.size() == 2 && weights.at(old) == 50;
                                    }});
  const auto next = world.pending();
  world.stop_operator();
  rewrite_as_kuberay(world);
  const auto pods = world.mirror().created("Pod");
  world.start_operator().run_until(upgraded("s"));
  EXPECT_EQ(world.active(), next) << "not rolled back";
  EXPECT_EQ(world.mirror().created("Pod"), pods);
  EXPECT_EQ(world.mirror().created("RayCluster"), 2);
  world.settle();
}

}  // namespace
}  // namespace manta::integration
