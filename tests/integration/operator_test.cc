// The whole operator on the embedded API server, on virtual time: a scripted kubelet, a scripted
// Ray, users who change their minds, and by seed failing calls, disturbed watches and dying
// processes.
//
// A failing seed replays: integration_test --gtest_filter='Seeds/OperatorUnderFaults.*/<n>'
#include "operator/operator.h"

#include "base/virtual_loop.h"
#include "kube/fault_api.h"
#include "local/apiserver/api_server.h"
#include "ray/crd.h"
#include "ray/types.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

namespace manta {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kNamespace = "default";

// Ray as its dashboard shows it: a job runs from its submission until the test ends it.
class ScriptedRay final : public kube::Outside {
 public:
  Task<Result<Json>> call(std::string, Json request) override {
    const auto op = string_at(request, {"op"});
    const auto id = std::string(string_at(request, {"job_id"}));
    if (down) co_return failed(ErrorCode::Unavailable, "no dashboard");
    if (op == "submit-job") {
      ++submissions[id];
      jobs.try_emplace(id, "RUNNING");
      co_return Json{{"job_id", id}};
    }
    if (op == "stop-job") {
      jobs[id] = "STOPPED";
      co_return Json{{"stopped", true}};
    }
    const auto job = jobs.find(id);
    if (job == jobs.end()) co_return failed(ErrorCode::NotFound, "no such job");
    co_return Json{{"status", job->second}, {"start_time", 1'700'000'000'000}};
  }

  bool down = false;
  std::map<std::string, std::string> jobs = {};
  std::map<std::string, int> submissions = {};
};

Json cluster_spec(int replicas) {
  return *parse_json(fmt::format(
      R"({{"rayVersion":"2.52.0",
           "headGroupSpec":{{"template":{{"spec":{{"containers":[{{"name":"h","image":"ray"}}]}}}}}},
           "workerGroupSpecs":[{{"groupName":"g","replicas":{},"minReplicas":0,"maxReplicas":20,
             "template":{{"spec":{{"containers":[{{"name":"w","image":"ray"}}]}}}}}}]}})",
      replicas));
}

Json object(const kube::Resource& resource, std::string_view name, Json spec) {
  return {{"apiVersion", resource.api_version()},
          {"kind", resource.kind},
          {"metadata", {{"name", name}, {"namespace", kNamespace}}},
          {"spec", std::move(spec)}};
}

/// One life of the operator's process.
struct Process {
  Process(Loop& loop, kube::Api& api, kube::Outside& ray, Random& random)
      : op(loop, api, ray, random, {.settings = settings()}), scope(loop) {
    scope.spawn("operator", op.run(scope.stop_token()));
  }
  static controllers::Settings settings() {
    controllers::Settings out;
    out.seed = "test";
    return out;
  }
  operator_::Operator op;
  Scope scope;
};

struct World {
  explicit World(std::uint64_t seed, double call_rate = 0, double event_rate = 0)
      : random(seed),
        faults({.seed = seed,
                .call_rate = call_rate,
                .event_rate = event_rate,
                .crashes = call_rate > 0}) {
    for (auto& crd : ray::ray_crds())
      MANTA_CHECK(
          loop.run(server.create(kube::kCustomResourceDefinitions, crd.object)).has_value());
    loop.run_for(seconds{1});
    process = std::make_unique<Process>(loop, api, ray, random);
  }
  ~World() {
    api.heal();
    process->scope.request_stop();
    loop.run_for(minutes{10});
  }

  Json must(Result<Json> answer) {
    if (!answer) ADD_FAILURE() << answer.error().message << "\n" << replay();
    return answer ? std::move(*answer) : Json{};
  }
  void apply(const kube::Resource& resource, std::string_view name, Json spec) {
    must(loop.run(server.create(resource, object(resource, name, std::move(spec)))));
  }
  void change(const kube::Resource& resource, std::string name, Json patch) {
    must(loop.run(server.patch(resource, {kNamespace, std::move(name)}, kube::PatchType::Merge,
                               std::move(patch))));
  }
  void scale(std::string name, int replicas) {
    change(ray::kRayClusters, std::move(name),
           {{"spec", {{"workerGroupSpecs", cluster_spec(replicas).at("workerGroupSpecs")}}}});
  }
  Json get(const kube::Resource& resource, std::string name) {
    auto found = loop.run(server.get(resource, {kNamespace, std::move(name)}));
    return found ? *found : Json{};
  }
  std::vector<Json> list(const kube::Resource& resource, std::string selector = {}) {
    auto found = must(loop.run(server.list(resource, kNamespace, std::move(selector))));
    const auto& items = array_at(found, {"items"});
    return {items.begin(), items.end()};
  }

  // What a kubelet does in a moment.
  void kubelet() {
    for (const auto& pod : list(kube::kPods)) {
      const kube::ObjectKey key{kNamespace, std::string(string_at(pod, {"metadata", "name"}))};
      if (find(pod, {"metadata", "deletionTimestamp"})) {
        (void)loop.run(server.call({.verb = kube::Verb::Delete,
                                    .resource = kube::kPods,
                                    .namespace_ = kNamespace,
                                    .name = key.name,
                                    .grace_period_seconds = 0}));
      } else if (string_at(pod, {"status", "phase"}) != "Running" &&
                 string_at(pod, {"status", "phase"}) != "Failed") {
        set_phase(key.name, "Running");
      }
    }
  }
  void set_phase(std::string name, std::string_view phase) {
    const bool up = phase == "Running";
    change_status(
        std::move(name),
        {{"status",
          {{"phase", phase},
           {"podIP", "10.0.0.9"},
           {"conditions", JsonArray{{{"type", "Ready"}, {"status", up ? "True" : "False"}}}}}}});
  }
  void change_status(std::string name, Json patch) {
    (void)loop.run(server.patch(kube::kPods, {kNamespace, std::move(name)}, kube::PatchType::Merge,
                                std::move(patch), "status"));
  }

  // Time passes, the kubelet works, a dead operator is started again.
  void live(milliseconds span) {
    for (milliseconds passed{0}; passed < span; passed += milliseconds{200}) {
      loop.run_for(milliseconds{200});
      kubelet();
      if (crashed) restart();
      check_heads();
    }
  }
  bool until(const std::function<bool()>& condition, milliseconds limit) {
    for (milliseconds passed{0}; passed < limit; passed += milliseconds{200}) {
      if (condition()) return true;
      live(milliseconds{200});
    }
    return condition();
  }
  void restart() {
    process->scope.request_stop();
    ASSERT_TRUE(loop.run_until([&] { return process->scope.running() == 0; }, minutes{10}))
        << replay();
    process = std::make_unique<Process>(loop, api, ray, random);
    crashed = false;
  }
  // At most one live head a cluster, whatever happens.
  void check_heads() {
    std::set<std::string_view> clusters;
    const auto pods = list(kube::kPods, "ray.io/node-type=head");
    for (const auto& pod : pods) {
      if (find(pod, {"metadata", "deletionTimestamp"})) continue;
      const auto cluster = string_at(pod, {"metadata", "labels", "ray.io/cluster"});
      EXPECT_TRUE(clusters.insert(cluster).second) << "two heads of " << cluster << "\n"
                                                   << replay();
    }
  }
  std::size_t live_workers(std::string_view cluster) {
    const auto pods =
        list(kube::kPods, fmt::format("ray.io/node-type=worker,ray.io/cluster={}", cluster));
    return static_cast<std::size_t>(std::ranges::count_if(
        pods, [](const auto& pod) { return !find(pod, {"metadata", "deletionTimestamp"}); }));
  }
  std::string status(const kube::Resource& resource, std::string name, std::string_view field) {
    return std::string(string_at(get(resource, std::move(name)), {"status", field}));
  }
  bool is_ready(const std::string& name, std::int64_t workers) {
    const auto cluster = get(ray::kRayClusters, name);
    return string_at(cluster, {"status", "state"}) == "ready" &&
           int_at(cluster, {"status", "readyWorkerReplicas"}) == workers &&
           live_workers(name) == static_cast<std::size_t>(workers);
  }
  // Nothing of ours changes any more, however long one waits.
  void check_quiet() {
    ASSERT_TRUE(until([&] { return process->op.idle(); }, minutes{5})) << replay();
    const auto revisions = [&] {
      std::map<std::string, std::string> out;
      for (const auto& resource :
           {ray::kRayClusters, ray::kRayJobs, kube::kPods, kube::kServices, kube::kJobs})
        for (const auto& item : list(resource))
          out[resource.plural + "/" + std::string(string_at(item, {"metadata", "name"}))] =
              string_at(item, {"metadata", "resourceVersion"});
      return out;
    };
    const auto before = revisions();
    loop.run_for(minutes{30});
    EXPECT_EQ(revisions(), before) << replay();
  }
  std::string replay() const {
    std::string lines;
    for (const auto& line : api.history()) lines += line + "\n";
    return lines;
  }

  VirtualLoop loop;
  SeededRandom random;
  std::unique_ptr<local::Store> store = std::move(*local::Store::open({}));
  local::ApiServer server{loop, random, *store};
  ScriptedRay ray = {};
  kube::SeededFaults faults;
  bool crashed = false;
  kube::FaultApi api{loop, server, faults, [this] {
                       crashed = true;
                       process->scope.request_stop();
                     }};
  std::unique_ptr<Process> process = {};
};

TEST(OperatorStory, ClusterComesUpScalesAndSettles) {
  World world(1);
  world.apply(ray::kRayClusters, "c", cluster_spec(2));
  ASSERT_TRUE(world.until([&] { return world.is_ready("c", 2); }, minutes{1}));
  world.check_quiet();
  world.scale("c", 5);
  ASSERT_TRUE(world.until([&] { return world.is_ready("c", 5); }, minutes{1}));
  world.scale("c", 1);
  ASSERT_TRUE(world.until([&] { return world.is_ready("c", 1); }, minutes{1}));
  world.check_quiet();
}

TEST(OperatorStory, LostHeadAndFailedWorkersAreReplaced) {
  World world(2);
  world.apply(ray::kRayClusters, "c", cluster_spec(2));
  ASSERT_TRUE(world.until([&] { return world.is_ready("c", 2); }, minutes{1}));
  const auto pods = world.list(kube::kPods);
  ASSERT_EQ(pods.size(), 3u);
  for (const auto& pod : pods)
    world.set_phase(std::string(string_at(pod, {"metadata", "name"})), "Failed");
  ASSERT_TRUE(world.until(
      [&] {
        const auto now = world.list(kube::kPods);
        return now.size() == 3 &&
               std::ranges::all_of(now,
                                   [&](const auto& pod) {
                                     return string_at(pod, {"status", "phase"}) == "Running";
                                   }) &&
               world.is_ready("c", 2);
      },
      minutes{1}));
  for (const auto& pod : world.list(kube::kPods))
    for (const auto& old : pods)
      EXPECT_NE(string_at(pod, {"metadata", "uid"}), string_at(old, {"metadata", "uid"}));
  world.check_quiet();
}

TEST(OperatorStory, SuspendedClusterLosesItsPodsAndGetsThemBack) {
  World world(3);
  world.apply(ray::kRayClusters, "c", cluster_spec(2));
  ASSERT_TRUE(world.until([&] { return world.is_ready("c", 2); }, minutes{1}));
  world.change(ray::kRayClusters, "c", {{"spec", {{"suspend", true}}}});
  ASSERT_TRUE(world.until(
      [&] { return world.status(ray::kRayClusters, "c", "state") == "suspended"; }, minutes{1}));
  EXPECT_TRUE(world.list(kube::kPods).empty());
  world.check_quiet();
  world.change(ray::kRayClusters, "c", {{"spec", {{"suspend", nullptr}}}});  // RC-17
  ASSERT_TRUE(world.until([&] { return world.is_ready("c", 2); }, minutes{1}));
}

TEST(OperatorStory, HttpJobRunsAndItsClusterGoes) {
  World world(4);
  world.apply(ray::kRayJobs, "j",
              {{"entrypoint", "python a.py"},
               {"submissionMode", "HTTPMode"},
               {"shutdownAfterJobFinishes", true},
               {"rayClusterSpec", cluster_spec(1)}});
  ASSERT_TRUE(world.until(
      [&] { return world.status(ray::kRayJobs, "j", "jobStatus") == "RUNNING"; }, minutes{1}));
  ASSERT_EQ(world.ray.submissions.size(), 1u);
  EXPECT_EQ(world.ray.submissions.begin()->second, 1);
  for (auto& [id, job] : world.ray.jobs) job = "SUCCEEDED";
  ASSERT_TRUE(world.until(
      [&] { return world.status(ray::kRayJobs, "j", "jobDeploymentStatus") == "Complete"; },
      minutes{1}));
  ASSERT_TRUE(world.until([&] { return world.list(ray::kRayClusters).empty(); }, minutes{1}));
}

TEST(OperatorStory, DashboardThatIsDownForAMinuteFailsNoJob) {
  World world(5);
  world.apply(ray::kRayJobs, "j",
              {{"entrypoint", "python a.py"},
               {"submissionMode", "HTTPMode"},
               {"rayClusterSpec", cluster_spec(0)}});
  ASSERT_TRUE(world.until(
      [&] { return world.status(ray::kRayJobs, "j", "jobStatus") == "RUNNING"; }, minutes{1}));
  world.ray.down = true;
  ASSERT_TRUE(world.until(
      [&] { return !world.status(ray::kRayJobs, "j", "jobStatusCheckFailureStartTime").empty(); },
      minutes{1}));
  world.live(minutes{1});
  world.ray.down = false;
  for (auto& [id, job] : world.ray.jobs) job = "SUCCEEDED";
  ASSERT_TRUE(world.until(
      [&] { return world.status(ray::kRayJobs, "j", "jobDeploymentStatus") == "Complete"; },
      minutes{3}));
}

class OperatorUnderFaults : public ::testing::TestWithParam<int> {};

TEST_P(OperatorUnderFaults, ClustersConvergeAndNeverHaveTwoHeads) {
  World world(static_cast<std::uint64_t>(GetParam()), 0.15, 0.1);
  std::map<std::string, int> wanted = {{"a", 2}, {"b", 3}};
  for (const auto& [name, replicas] : wanted)
    world.apply(ray::kRayClusters, name, cluster_spec(replicas));
  for (int step = 0; step < 15; ++step) {
    world.live(milliseconds{static_cast<int>(world.random.next() % 2000)});
    for (auto& [name, replicas] : wanted) {
      if (world.random.next() % 3 == 0)
        world.scale(name, replicas = static_cast<int>(world.random.next() % 6));
      ASSERT_LE(world.live_workers(name), 6u) << world.replay();
    }
    if (const auto pods = world.list(kube::kPods); !pods.empty() && world.random.next() % 2 == 0)
      world.set_phase(
          std::string(string_at(pods[world.random.next() % pods.size()], {"metadata", "name"})),
          "Failed");
  }
  world.api.heal();
  world.loop.run_for(minutes{45});  // past the longest back-off
  for (const auto& [name, replicas] : wanted)
    ASSERT_TRUE(world.until([&] { return world.is_ready(name, replicas); }, minutes{30}))
        << name << " " << dump_json(world.get(ray::kRayClusters, name)) << "\n"
        << world.replay();
  world.check_quiet();
}

TEST_P(OperatorUnderFaults, JobsEndAndEachIsSubmittedOnce) {
  World world(static_cast<std::uint64_t>(GetParam()) + 1000, 0.15, 0.1);
  for (auto name : {"x", "y"})
    world.apply(ray::kRayJobs, name,
                {{"entrypoint", "python a.py"},
                 {"submissionMode", "HTTPMode"},
                 {"rayClusterSpec", cluster_spec(1)}});
  const auto all = [&](std::string_view field, std::string_view value) {
    return world.status(ray::kRayJobs, "x", field) == value &&
           world.status(ray::kRayJobs, "y", field) == value;
  };
  ASSERT_TRUE(world.until([&] { return all("jobStatus", "RUNNING"); }, minutes{30}))
      << world.replay();
  EXPECT_EQ(world.ray.jobs.size(), 2u) << world.replay();  // an id a RayJob, however often we died
  for (auto& [id, job] : world.ray.jobs) job = "SUCCEEDED";
  ASSERT_TRUE(world.until([&] { return all("jobDeploymentStatus", "Complete"); }, minutes{30}))
      << world.replay();
  for (auto name : {"x", "y"})
    EXPECT_EQ(int_at(world.get(ray::kRayJobs, name), {"status", "succeeded"}), 1) << world.replay();
  EXPECT_EQ(world.list(ray::kRayClusters).size(), 2u) << world.replay();
}

INSTANTIATE_TEST_SUITE_P(Seeds, OperatorUnderFaults, ::testing::Range(1, 16));

}  // namespace
}  // namespace manta
