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

struct Spec {
  std::string text = {};
  bool shuts_down = false;
  bool interactive = false;
  bool has_rules = false;
};

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

Spec random_spec(Dice& dice) {
  constexpr const char* kModes[] = {"K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"};
  constexpr const char* kPolicies[] = {"DeleteCluster", "DeleteWorkers", "DeleteSelf",
                                       "DeleteNone"};
  constexpr const char* kWhen[] = {"jobStatus: SUCCEEDED", "jobStatus: FAILED",
                                   "jobDeploymentStatus: Failed"};
  Spec spec;
  std::string text(kJob);
  text.replace(text.find("  shutdownAfterJobFinishes: true\n"), 33, "");
  const std::string mode = dice.pick(kModes);
  spec.interactive = mode == "InteractiveMode";
  text += fmt::format("  submissionMode: {}\n  activeDeadlineSeconds: 1800\n", mode);
  text += fmt::format("  preRunningDeadlineSeconds: {}\n", 300 + dice.below(600));
  if (!spec.interactive) text += fmt::format("  backoffLimit: {}\n", dice.below(3));
  if (spec.interactive && dice.one_in(2)) text += "  jobId: mine\n";
  switch (dice.below(4)) {
    case 0:
      break;  // the user keeps everything
    case 1:
      spec.shuts_down = true;
      text += fmt::format("  shutdownAfterJobFinishes: true\n  ttlSecondsAfterFinished: {}\n",
                          dice.below(200));
      break;
    case 2:
      spec.has_rules = true;
      text += "  deletionStrategy:\n    deletionRules:\n";
      for (const auto* when : kWhen)
        if (dice.one_in(2))
          text += fmt::format("    - {{policy: {}, condition: {{{}, ttlSeconds: {}}}}}\n",
                              dice.pick(kPolicies), when, dice.below(100));
      if (text.ends_with("deletionRules:\n"))
        text += "    - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}\n";
      break;
    default:
      spec.has_rules = true;
      text += fmt::format(
          "  deletionStrategy: {{onSuccess: {{policy: {}}}, onFailure: {{policy: {}}}}}\n",
          dice.pick(kPolicies), dice.pick(kPolicies));
  }
  spec.text = std::move(text);
  return spec;
}

std::string status(const World& world, std::string_view field) {
  return std::string(string_at(world.get("RayJob", "j"), {"status", field}));
}
bool is_there(const World& world) { return world.mirror().find("RayJob", "j") != nullptr; }

// One thing that may happen to a RayJob.
void something_happens(World& world, Dice& dice, const Spec& spec) {
  using Mood = RayDashboardDouble::Mood;
  constexpr const char* kEnds[] = {"SUCCEEDED", "FAILED", "STOPPED"};
  constexpr Mood kMoods[] = {Mood::Answers, Mood::Answers, Mood::ServerError, Mood::Hangs};
  const auto cluster = world.cluster_of("j");
  const auto head = cluster.empty() ? std::string() : world.head(cluster);
  switch (dice.below(11)) {
    case 0:
    case 1:
      if (!world.id_of("j").empty() && !world.ray().status_of(world.id_of("j")).empty())
        world.end_job("j", dice.pick(kEnds));
      break;
    case 2:
      if (!head.empty()) world.kubelet().fail(head);
      break;
    case 3:
      if (!head.empty()) world.remove("Pod", head);
      break;
    case 4:
      if (const auto pod = world.submitter_pod("j"); !pod.empty()) world.remove("Pod", pod);
      break;
    case 5:
      world.ray().mood = dice.pick(kMoods);
      break;
    case 6:
      world.crash();
      break;
    case 7:
      if (is_there(world) && spec.shuts_down)
        world.patch("RayJob", "j",
                    fmt::format("{{spec: {{suspend: {}}}}}", dice.one_in(2) ? "true" : "false"));
      break;
    case 8:
      if (is_there(world))  // an edit that no operator takes
        world.patch("RayJob", "j",
                    fmt::format("{{spec: {{ttlSecondsAfterFinished: {}}}}}",
                                dice.one_in(2) && !spec.shuts_down ? 0 : -1));
      break;
    case 9:
      if (world.mirror().find("RayCluster", cluster) && dice.one_in(3))
        world.remove("RayCluster", cluster);
      break;
    default:
      world.stop_operator().pass(std::chrono::seconds{dice.below(400)}).start_operator();
  }
  world.pass(std::chrono::seconds{dice.below(120)});
}

// What the end of the story must be.
void judge(const World& world, const Spec& spec) {
  const bool has_cluster = !world.mirror().list("RayCluster").empty();
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
  if (spec.shuts_down) {
    EXPECT_FALSE(has_cluster) << state << ": shutdownAfterJobFinishes";
    return;
  }
  if (!spec.has_rules || !has_cluster) return;  // kept as asked, or gone as asked
  // A cluster that rules left: some rule says so, or its user is told.
  bool told = false;
  for (const auto& condition : array_at(world.get("RayJob", "j"), {"status", "conditions"}))
    told = told || string_at(condition, {"type"}) == "CleanupNotApplicable";
  const auto& strategy = object_at(world.get("RayJob", "j"), {"spec", "deletionStrategy"});
  bool meant = false;  // DeleteWorkers, DeleteNone
  const auto applies = [&](const Json& rule) {
    const auto job = string_at(rule, {"condition", "jobStatus"});
    return job.empty() ? string_at(rule, {"condition", "jobDeploymentStatus"}) == state
                       : job == status(world, "jobStatus");
  };
  bool any = false;
  for (const auto& rule : array_at(Json(strategy), {"deletionRules"})) {
    if (!applies(rule)) continue;
    any = true;
    const auto policy = string_at(rule, {"policy"});
    meant = meant || policy == "DeleteWorkers" || policy == "DeleteNone";
  }
  for (const auto& [side, ends] :
       {std::pair("onSuccess", "SUCCEEDED"), std::pair("onFailure", "FAILED")}) {
    const auto policy = string_at(Json(strategy), {side, "policy"});
    if (policy.empty() || status(world, "jobStatus") != ends) continue;
    any = true;
    meant = meant || policy == "DeleteWorkers" || policy == "DeleteNone";
  }
  EXPECT_TRUE(any ? meant : told) << spec.text << world.describe();
}

class RayJobLeak : public ::testing::TestWithParam<int> {};

TEST_P(RayJobLeak, EndsWithAClusterThatWasAskedForOrNone) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  Dice dice(seed);
  const auto spec = random_spec(dice);
  SCOPED_TRACE(spec.text);
  World world({.seed = seed});
  world.apply(spec.text);
  for (auto turns = 3 + dice.below(8); turns > 0; --turns) something_happens(world, dice, spec);
  // The world becomes quiet, and the user's last word is a valid spec.
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  if (is_there(world)) world.patch("RayJob", "j", "{spec: {ttlSecondsAfterFinished: 0}}");
  world.pass(3h);
  // Retries and resumed ones have had their deadlines; interactive ones theirs.
  judge(world, spec);
}
INSTANTIATE_TEST_SUITE_P(, RayJobLeak, ::testing::Range(1, 61));

}  // namespace
}  // namespace manta::integration
