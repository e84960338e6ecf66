// No RayJob leaks its cluster: whatever its spec and whatever happens to it, it ends with a cluster
// that its user asked to keep, or with none. Random specs × random histories, by seed.
#include "base/random.h"
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_.next() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  const T& pick(const T (&from)[N]) {
    return from[below(N)];
  }

 private:
  SeededRandom random_;
};

// ---- what the user wants

struct Rule {
  std::string policy = {};
  std::string when = {};  // "jobStatus: SUCCEEDED"
};
struct Wish {
  std::string text = {};  // the manifest
  bool shuts_down = false;
  bool on_shared_cluster = false;
  std::vector<Rule> rules = {};  // older policies as well
};

constexpr const char* kPolicies[] = {"DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"};
constexpr const char* kEnds[] = {"jobStatus: SUCCEEDED", "jobStatus: FAILED",
                                 "jobDeploymentStatus: Failed"};

void wish_for_clean_up(Wish& wish, Dice& dice) {
  switch (dice.below(4)) {
    case 0:
      return;  // the user keeps everything
    case 1:
      wish.shuts_down = true;
      wish.text += fmt::format("  shutdownAfterJobFinishes: true\n  ttlSecondsAfterFinished: {}\n",
                               dice.below(200));
      return;
    case 2: {
      // Times to live in the order that validation wants.
      wish.text += "  deletionStrategy:\n    deletionRules:\n";
      for (const auto* when : kEnds) {
        auto seconds = dice.below(100);
        for (const auto* policy : {"DeleteNone", "DeleteWorkers", "DeleteCluster", "DeleteSelf"}) {
          if (!dice.one_in(3)) continue;
          wish.rules.push_back({policy, when});
          wish.text += fmt::format("    - {{policy: {}, condition: {{{}, ttlSeconds: {}}}}}\n",
                                   policy, when, seconds);
          seconds += dice.below(100);
        }
      }
      if (!wish.rules.empty()) return;
      wish.rules.push_back({"DeleteCluster", kEnds[0]});
      wish.text += fmt::format("    - {{policy: DeleteCluster, condition: {{{}}}}}\n", kEnds[0]);
      return;
    }
    default:
      wish.rules = {{dice.pick(kPolicies), kEnds[0]}, {dice.pick(kPolicies), kEnds[1]}};
      wish.text += fmt::format(
          "  deletionStrategy: {{onSuccess: {{policy: {}}}, onFailure: {{policy: {}}}}}\n",
          wish.rules[0].policy, wish.rules[1].policy);
  }
}

Wish random_wish(Dice& dice) {
  constexpr const char* kModes[] = {"K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"};
  Wish wish;
  const std::string mode = dice.pick(kModes);
  const bool interactive = mode == "InteractiveMode";
  wish.on_shared_cluster = mode != "SidecarMode" && dice.one_in(6);
  if (wish.on_shared_cluster) {
    wish.text =
        "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: j}\nspec:\n  entrypoint: x\n"
        "  clusterSelector: {ray.io/cluster: c}\n";
  } else {
    wish.text = kJob;
    wish.text.replace(wish.text.find("  shutdownAfterJobFinishes: true\n"), 33, "");
  }
  wish.text += fmt::format("  submissionMode: {}\n  activeDeadlineSeconds: 1800\n", mode);
  wish.text += fmt::format("  preRunningDeadlineSeconds: {}\n", 300 + dice.below(600));
  if (!interactive && !wish.on_shared_cluster) {
    wish.text += fmt::format("  backoffLimit: {}\n", dice.below(3));
    if (dice.one_in(3)) wish.text += "  retryStrategy: ReuseRayCluster\n";
  }
  if (mode == "K8sJobMode")
    wish.text += fmt::format("  submitterConfig: {{backoffLimit: {}}}\n", dice.below(3));
  if (interactive && dice.one_in(2)) wish.text += "  jobId: mine\n";
  if (!wish.on_shared_cluster) wish_for_clean_up(wish, dice);
  return wish;
}

std::string random_gates(Dice& dice) {
  std::string gates;
  for (const auto* gate : {"RayJobCountLostHeads", "RayJobPatience", "RayJobStopAtDeadline",
                           "RayJobTotalDeadline", "RayJobWaitingWindow", "RayJobHeadInitFailure",
                           "RayJobReuseCluster", "RayJobKeepLog", "SidecarSubmitterRestart"})
    if (dice.one_in(4)) gates += fmt::format("{}{}=true", gates.empty() ? "" : ",", gate);
  return gates;
}

// ---- what happens

std::string status(const World& world, std::string_view field) {
  return std::string(string_at(world.get("RayJob", "j"), {"status", field}));
}
bool is_there(const World& world) { return world.mirror().find("RayJob", "j") != nullptr; }

// An earlier operator's clock was ahead of ours, or behind it.
void shift_times(World& world, Dice& dice) {
  const auto by = std::chrono::seconds{dice.below(1200)} - 600s;
  for (const auto* field : {"startTime", "endTime", "jobStatusCheckFailureStartTime"}) {
    const auto time = parse_rfc3339(status(world, field));
    if (!time) continue;
    const auto patch = JsonObject{
        {"status", JsonObject{{field, format_rfc3339(
                                          std::chrono::floor<std::chrono::seconds>(*time + by))}}}};
    const auto done = world.loop().run(world.server().patch(
        resource_of("RayJob"), {"default", "j"}, kube::PatchType::Merge, patch, "status"));
    EXPECT_TRUE(done) << done.error().message;
  }
}

void happens_to_the_job(World& world, Dice& dice, const Wish& wish) {
  constexpr const char* kResults[] = {"SUCCEEDED", "FAILED", "STOPPED"};
  switch (dice.below(8)) {
    case 0:
    case 1:
    case 2:
      if (!world.id_of("j").empty() && !world.ray().status_of(world.id_of("j")).empty())
        world.end_job("j", dice.pick(kResults));
      break;
    case 3:
      if (wish.shuts_down)
        world.patch("RayJob", "j",
                    fmt::format("{{spec: {{suspend: {}}}}}", dice.one_in(2) ? "true" : "false"));
      break;
    case 4:  // an edit that no operator takes
      world.patch("RayJob", "j",
                  fmt::format("{{spec: {{ttlSecondsAfterFinished: {}}}}}",
                              dice.one_in(2) && !wish.shuts_down ? 0 : -1));
      break;
    case 5:
      shift_times(world, dice);
      break;
    case 6:
      if (const auto pod = world.submitter_pod("j"); !pod.empty()) world.remove("Pod", pod);
      break;
    default:
      if (dice.one_in(6)) world.remove("RayJob", "j");
  }
}

void happens_around_it(World& world, Dice& dice, const Wish& wish) {
  using Mood = RayDashboardDouble::Mood;
  constexpr Mood kMoods[] = {Mood::Answers, Mood::Answers, Mood::ServerError, Mood::Hangs};
  const auto cluster = is_there(world) ? world.cluster_of("j") : std::string();
  const auto head = cluster.empty() ? std::string() : world.head(cluster);
  switch (dice.below(8)) {
    case 0:
      if (!head.empty()) world.kubelet().fail(head);
      break;
    case 1:
      if (!head.empty()) world.remove("Pod", head);
      break;
    case 2:
      world.ray().mood = dice.pick(kMoods);
      break;
    case 3:
      world.crash();
      break;
    case 4:
      if (!wish.on_shared_cluster && world.mirror().find("RayCluster", cluster) && dice.one_in(3))
        world.remove("RayCluster", cluster);
      break;
    case 5:
      world.kubelet().hold({{"ray.io/node-type", dice.one_in(2) ? "head" : "worker"}});
      break;
    case 6:
      world.kubelet().release();
      break;
    default:
      world.stop_operator().pass(std::chrono::seconds{dice.below(400)}).start_operator();
  }
}

// ---- what must be at the end

// Policies of the user's rules that apply to how the job ended.
std::vector<std::string> applying(const World& world, const Wish& wish) {
  const auto job = "jobStatus: " + status(world, "jobStatus");
  const auto deployment = "jobDeploymentStatus: " + status(world, "jobDeploymentStatus");
  std::vector<std::string> policies;
  for (const auto& rule : wish.rules)
    if (rule.when == job || rule.when == deployment) policies.push_back(rule.policy);
  return policies;
}

bool says_that_nothing_applies(const World& world) {
  for (const auto& condition : array_at(world.get("RayJob", "j"), {"status", "conditions"}))
    if (string_at(condition, {"type"}) == "CleanupNotApplicable") return true;
  return false;
}

void judge_rules(const World& world, const Wish& wish, bool has_cluster, bool has_default) {
  const auto policies = applying(world, wish);
  const auto any = [&](std::string_view policy) {
    return std::ranges::count(policies, policy) > 0;
  };
  EXPECT_FALSE(any("DeleteSelf")) << "and it is there";
  if (any("DeleteCluster")) EXPECT_FALSE(has_cluster) << "DeleteCluster";
  if (any("DeleteWorkers") && has_cluster)
    EXPECT_TRUE(world.workers(world.cluster_of("j")).empty()) << "DeleteWorkers\n"
                                                              << world.describe();
  EXPECT_EQ(says_that_nothing_applies(world), policies.empty());
  if (policies.empty() && has_default) EXPECT_FALSE(has_cluster) << "the operator's rule";
}

void judge(const World& world, const Wish& wish, bool has_default) {
  if (wish.on_shared_cluster) {
    EXPECT_EQ(world.mirror().list("RayCluster").size(), 1u) << "it is not the RayJob's";
    EXPECT_EQ(world.workers("c").size(), 2u);
    return;
  }
  const bool has_cluster = !world.mirror().list("RayCluster").empty();
  if (!has_cluster)
    for (const auto* pod : world.mirror().list("Pod"))
      EXPECT_FALSE(find(*pod, {"metadata", "labels", "ray.io/node-type"}))
          << "no cluster, and a Pod";
  if (!is_there(world)) {
    EXPECT_FALSE(has_cluster) << "its RayJob is gone";
    return;
  }
  const auto state = status(world, "jobDeploymentStatus");
  if (state == "Suspended" || state == "ValidationFailed") {
    EXPECT_FALSE(has_cluster) << state;
    return;
  }
  ASSERT_TRUE(state == "Complete" || state == "Failed") << state << "\n" << world.describe();
  EXPECT_LE(world.mirror().list("RayCluster").size(), 1u) << "one attempt's";
  if (wish.shuts_down) EXPECT_FALSE(has_cluster) << state << ": shutdownAfterJobFinishes";
  if (!wish.rules.empty()) judge_rules(world, wish, has_cluster, has_default);
}

class RayJobLeak : public ::testing::TestWithParam<int> {};

TEST_P(RayJobLeak, EndsWithAClusterThatWasAskedForOrNone) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  Dice dice(seed);
  const auto wish = random_wish(dice);
  SCOPED_TRACE(wish.text);
  const bool has_default = dice.one_in(3);
  WorldOptions options{.seed = seed, .feature_gates = random_gates(dice)};
  if (has_default) options.environment["RAYJOB_DEFAULT_DELETION_RULE"] = "DeleteCluster:100";
  World world(options);
  if (wish.on_shared_cluster) world.apply(kCluster).run_until(cluster_is("c", "ready"));
  Dice faults(seed + 1'000'000);
  world.faults().on_write = [&](std::size_t, const kube::Request&) {
    constexpr kube::CallFault kKinds[] = {kube::CallFault::Conflict, kube::CallFault::LostReply,
                                          kube::CallFault::Forbidden};
    return faults.one_in(25) ? faults.pick(kKinds) : kube::CallFault::None;
  };
  world.apply(wish.text);
  for (auto turns = 3 + dice.below(10); turns > 0; --turns) {
    if (dice.one_in(2) && is_there(world))
      happens_to_the_job(world, dice, wish);
    else
      happens_around_it(world, dice, wish);
    world.pass(std::chrono::seconds{dice.below(120)});
  }
  // The world becomes quiet, and the user's last word is a valid spec.
  world.faults().on_write = {};
  world.kubelet().release();
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  if (is_there(world)) world.patch("RayJob", "j", "{spec: {ttlSecondsAfterFinished: 0}}");
  world.pass(3h);  // retries and resumed ones have had their deadlines, interactive ones theirs
  judge(world, wish, has_default);
}
INSTANTIATE_TEST_SUITE_P(, RayJobLeak, ::testing::Range(1, 121));

}  // namespace
}  // namespace manta::integration
