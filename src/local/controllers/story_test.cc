// Stories: the controllers on the embedded API server, in process and on virtual time. The test
// plays the node.
#include "base/virtual_loop.h"
#include "local/apiserver/api_server.h"
#include "local/controllers/local_controllers.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

using namespace std::chrono_literals;

class World {
 public:
  explicit World(LocalControllersOptions options = {})
      : controllers_(loop_, api_, random_, std::move(options)) {
    scope_.spawn("controllers", controllers_.run(scope_.stop_token()));
    settle();
  }
  ~World() {
    scope_.request_stop();
    EXPECT_TRUE(loop_.run_until([&] { return scope_.running() == 0; }, 1min));
  }

  void settle(Duration time = 2s) { loop_.run_for(time); }

  Json create(const kube::Resource& resource, std::string_view json, std::string ns = "default") {
    auto object = *parse_json(json);
    if (resource.namespaced && find(object, {"metadata", "namespace"}) == nullptr)
      object.as_object()["metadata"].as_object()["namespace"] = ns;
    auto answer = loop_.run(api_.create(resource, std::move(object)));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : Json{};
  }
  std::optional<Json> get(const kube::Resource& resource, std::string name,
                          std::string ns = "default") {
    auto answer = loop_.run(api_.get(resource, {resource.namespaced ? ns : "", std::move(name)}));
    return answer ? std::optional(*answer) : std::nullopt;
  }
  JsonArray list(const kube::Resource& resource, std::string ns = "default") {
    return array_at(*loop_.run(api_.list(resource, ns)), {"items"});
  }
  void remove(const kube::Resource& resource, std::string name,
              kube::Propagation propagation = kube::Propagation::Default) {
    kube::Request request{.verb = kube::Verb::Delete,
                          .resource = resource,
                          .namespace_ = resource.namespaced ? "default" : "",
                          .name = std::move(name),
                          .propagation = propagation};
    auto answer = loop_.run(api_.call(std::move(request)));
    EXPECT_TRUE(answer) << answer.error().message;
  }
  void status(const kube::Resource& resource, std::string name, std::string_view json) {
    const JsonObject patch{{"status", *parse_json(json)}};
    auto answer = loop_.run(api_.patch(resource, {resource.namespaced ? "default" : "", name},
                                       kube::PatchType::Merge, patch, "status"));
    EXPECT_TRUE(answer) << answer.error().message;
  }
  void add_node() {
    create(kube::kNodes, R"({"metadata":{"name":"laptop"}})");
    status(kube::kNodes, "laptop",
           R"({"allocatable":{"cpu":"2","memory":"4Gi","pods":"10"},
               "conditions":[{"type":"Ready","status":"True"}]})");
  }
  void finish(const std::string& pod, int exit_code) {
    status(
        kube::kPods, pod,
        R"({"phase":")" + std::string(exit_code == 0 ? "Succeeded" : "Failed") +
            R"(","containerStatuses":[{"name":"c","image":"i","imageID":"","ready":false,"restartCount":0,
                   "state":{"terminated":{"exitCode":)" +
            std::to_string(exit_code) + R"(,"finishedAt":")" + format_rfc3339(loop_.now()) +
            R"("}}}]})");
  }
  std::string owner_ref(const Json& owner, bool block = true) {
    return R"("ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":")" +
           std::string(string_at(owner, {"metadata", "name"})) + R"(","uid":")" +
           std::string(string_at(owner, {"metadata", "uid"})) + R"(","blockOwnerDeletion":)" +
           (block ? "true" : "false") + "}]";
  }

 private:
  VirtualLoop loop_;
  SeededRandom random_{11};
  std::unique_ptr<Store> store_ = std::move(*Store::open({}));
  ApiServer api_{loop_, random_, *store_};
  Scope scope_{loop_};
  LocalControllers controllers_;
};

std::string name_of(const Json& object) {
  return std::string(string_at(object, {"metadata", "name"}));
}

std::string condition(const Json& object, std::string_view type) {
  for (const auto& each : array_at(object, {"status", "conditions"}))
    if (string_at(each, {"type"}) == type)
      return std::string(string_at(each, {"status"})) + " " +
             std::string(string_at(each, {"reason"}));
  return "";
}

const char* const kPod = R"({"metadata":{"name":"p","labels":{"app":"a"}},
  "spec":{"containers":[{"name":"c","image":"i","ports":[{"name":"http","containerPort":8080}]}]}})";
const char* const kJob = R"({"metadata":{"name":"j"},"spec":{"backoffLimit":1,"template":{"spec":{
  "restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";

TEST(LocalControllers, PodIsScheduledOnceThereIsANode) {
  World world;
  world.create(kube::kPods, kPod);
  world.settle();
  EXPECT_EQ(condition(*world.get(kube::kPods, "p"), "PodScheduled"), "False Unschedulable");
  world.add_node();
  world.settle();
  const auto pod = *world.get(kube::kPods, "p");
  EXPECT_EQ(string_at(pod, {"spec", "nodeName"}), "laptop");
  EXPECT_TRUE(condition(pod, "PodScheduled").starts_with("True"));
}

TEST(LocalControllers, JobSucceedsAndItsDeletionTakesItsPod) {
  World world;
  world.add_node();
  world.create(kube::kJobs, kJob);
  world.settle();
  auto pods = world.list(kube::kPods);
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_EQ(int_at(*world.get(kube::kJobs, "j"), {"status", "active"}), 1);
  world.finish(name_of(pods[0]), 0);
  world.settle();
  auto job = *world.get(kube::kJobs, "j");
  EXPECT_EQ(condition(job, "Complete"), "True CompletionsReached") << dump_json(job);
  EXPECT_EQ(int_at(job, {"status", "succeeded"}), 1);
  EXPECT_FALSE(string_at(job, {"status", "completionTime"}).empty());
  EXPECT_TRUE(array_at(world.list(kube::kPods)[0], {"metadata", "finalizers"}).empty());
  world.remove(kube::kJobs, "j", kube::Propagation::Background);
  world.settle();
  EXPECT_TRUE(world.list(kube::kPods).empty());
}

TEST(LocalControllers, FailedJobRetriesAfterItsBackoffAndGivesUp) {
  World world;
  world.add_node();
  world.create(kube::kJobs, kJob);
  world.settle();
  world.finish(name_of(world.list(kube::kPods)[0]), 3);
  world.settle(5s);
  EXPECT_EQ(world.list(kube::kPods).size(), 1u) << "not at once";
  world.settle(6s);
  const auto pods = world.list(kube::kPods);
  ASSERT_EQ(pods.size(), 2u);
  for (const auto& pod : pods)
    if (string_at(pod, {"status", "phase"}) != "Failed") world.finish(name_of(pod), 3);
  world.settle();
  const auto job = *world.get(kube::kJobs, "j");
  EXPECT_EQ(condition(job, "Failed"), "True BackoffLimitExceeded") << dump_json(job);
  EXPECT_EQ(int_at(job, {"status", "failed"}), 2);
}

TEST(LocalControllers, PodOfAJobThatWasDeletedWithoutItIsLetGo) {
  World world;
  world.add_node();
  world.create(kube::kJobs, kJob);
  world.settle();
  const auto pod = name_of(world.list(kube::kPods)[0]);
  world.remove(kube::kJobs, "j", kube::Propagation::Orphan);
  world.settle();
  const auto left = world.get(kube::kPods, pod);
  ASSERT_TRUE(left);
  EXPECT_TRUE(array_at(*left, {"metadata", "ownerReferences"}).empty());
}

TEST(LocalControllers, BackgroundDeletionFollowsOwners) {
  World world;
  const auto owner = world.create(kube::kConfigMaps, R"({"metadata":{"name":"owner"}})");
  world.create(kube::kConfigMaps,
               R"({"metadata":{"name":"owned",)" + world.owner_ref(owner) + "}}");
  world.settle();
  world.remove(kube::kConfigMaps, "owner", kube::Propagation::Background);
  world.settle();
  EXPECT_FALSE(world.get(kube::kConfigMaps, "owned"));
}

TEST(LocalControllers, ForegroundDeletionWaitsForDependents) {
  World world;
  const auto owner = world.create(kube::kConfigMaps, R"({"metadata":{"name":"owner"}})");
  world.create(kube::kConfigMaps, R"({"metadata":{"name":"owned","finalizers":["x.io/hold"],)" +
                                      world.owner_ref(owner) + "}}");
  world.settle();
  world.remove(kube::kConfigMaps, "owner", kube::Propagation::Foreground);
  world.settle();
  ASSERT_TRUE(world.get(kube::kConfigMaps, "owner")) << "its dependent is still there";
  EXPECT_FALSE(
      string_at(*world.get(kube::kConfigMaps, "owned"), {"metadata", "deletionTimestamp"}).empty());
}

TEST(LocalControllers, AnOwnerOfThatNameButAnotherUidIsNoOwner) {
  World world;
  auto owner = world.create(kube::kConfigMaps, R"({"metadata":{"name":"owner"}})");
  owner.as_object()["metadata"].as_object()["uid"] = "11111111-1111-4111-8111-111111111111";
  world.create(kube::kConfigMaps,
               R"({"metadata":{"name":"owned",)" + world.owner_ref(owner) + "}}");
  world.settle();
  EXPECT_TRUE(world.get(kube::kConfigMaps, "owner"));
  EXPECT_FALSE(world.get(kube::kConfigMaps, "owned"));
}

TEST(LocalControllers, EndpointsFollowReadiness) {
  World world;
  world.add_node();
  world.create(
      kube::kServices,
      R"({"metadata":{"name":"svc"},"spec":{"selector":{"app":"a"},"ports":[{"port":80,"targetPort":"http"}]}})");
  world.create(kube::kPods, kPod);
  world.settle();
  EXPECT_TRUE(array_at(*world.get(kube::kEndpoints, "svc"), {"subsets"}).empty());
  world.status(
      kube::kPods, "p",
      R"({"phase":"Running","podIP":"10.0.0.9","conditions":[{"type":"Ready","status":"True"}]})");
  world.settle();
  const auto endpoints = *world.get(kube::kEndpoints, "svc");
  ASSERT_EQ(array_at(endpoints, {"subsets"}).size(), 1u) << dump_json(endpoints);
  EXPECT_EQ(int_at(array_at(array_at(endpoints, {"subsets"})[0], {"ports"})[0], {"port"}), 8080);
  EXPECT_EQ(world.list(kube::kEndpointSlices).size(), 2u) << "the API server has its own";
  world.remove(kube::kServices, "svc");
  world.settle();
  EXPECT_FALSE(world.get(kube::kEndpoints, "svc"));
  EXPECT_EQ(world.list(kube::kEndpointSlices).size(), 1u);
}

TEST(LocalControllers, NamespaceHoldsItsAccountAndGoesWithEverythingInIt) {
  World world({.ca_pem = "CA"});
  world.create(kube::kNamespaces, R"({"metadata":{"name":"team"}})");
  world.settle();
  EXPECT_TRUE(world.get(kube::kServiceAccounts, "default", "team"));
  EXPECT_EQ(
      string_at(*world.get(kube::kConfigMaps, "kube-root-ca.crt", "team"), {"data", "ca.crt"}),
      "CA");
  world.create(kube::kPods, kPod, "team");
  world.remove(kube::kNamespaces, "team");
  world.settle(5s);
  EXPECT_FALSE(world.get(kube::kNamespaces, "team"));
  EXPECT_TRUE(world.list(kube::kPods, "team").empty());
}

}  // namespace
}  // namespace manta::local
