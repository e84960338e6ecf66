// What users of the reference ran into when RayJobs end, are suspended or deleted, and with what is
// left of them. Each test has its case's id.
#include "kube/runtime.h"
#include "rayjob_case_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using kube::CallFault;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(RayJobCase, RJ_12_RulesThatMatchNothingAreSaid) {
  World world;
  world.apply(kept_job() + R"(  activeDeadlineSeconds: 120
  deletionStrategy:
    deletionRules:
    - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}
    - {policy: DeleteCluster, condition: {jobStatus: FAILED}}
)");
  world.run_until(job_is("j", "Failed"), 5min).settle();
  EXPECT_EQ(status(world, "jobStatus"), "RUNNING");
  EXPECT_TRUE(has_condition(world, "CleanupNotApplicable"));
  EXPECT_EQ(counted(world.events("j"), "CleanupNotApplicable"), 1);
  world.expect_rest();
}

TEST(RayJobCase, RJ_12_TheOperatorsOwnRuleHelpsWhereNoneMatches) {
  World world({.environment = {{"RAYJOB_DEFAULT_DELETION_RULE", "DeleteCluster:600"}}});
  constexpr const char* kRules = R"(  deletionStrategy:
    deletionRules:
    - {policy: DeleteNone, condition: {jobStatus: SUCCEEDED}}
)";
  world.apply(kept_job() + "  activeDeadlineSeconds: 120\n" + kRules);
  world.run_until(job_is("j", "Failed"), 5min).settle();
  EXPECT_TRUE(has_condition(world, "CleanupNotApplicable"));
  const auto cluster = world.cluster_of("j");
  world.pass(9min);
  EXPECT_TRUE(world.mirror().find("RayCluster", cluster));
  world.run_until(is_gone("RayCluster", cluster), 70s).settle();
  EXPECT_TRUE(world.mirror().find("RayJob", "j"));
}

TEST(RayJobCase, RJ_12_WhoseUsersRuleMatchesOrWhoHasNoneIsLeftToIt) {
  for (const auto* strategy : {"", R"(  deletionStrategy:
    deletionRules:
    - {policy: DeleteNone, condition: {jobStatus: SUCCEEDED}}
)"}) {
    World world({.environment = {{"RAYJOB_DEFAULT_DELETION_RULE", "DeleteSelf"}}});
    world.apply(kept_job() + strategy).run_until(ray_job_is("j", "RUNNING"));
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
    world.pass(1h);
    EXPECT_TRUE(world.mirror().find("RayCluster", world.cluster_of("j"))) << strategy;
  }
}

TEST(RayJobCase, RJ_14_AfterALongAbsenceOnlyTheLastRuleIsCarriedOut) {
  World world;
  world.apply(kept_job() + R"(  deletionStrategy:
    deletionRules:
    - {policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED, ttlSeconds: 10}}
    - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED, ttlSeconds: 60}}
    - {policy: DeleteSelf, condition: {jobStatus: SUCCEEDED, ttlSeconds: 600}}
)");
  world.run_until(ray_job_is("j", "RUNNING")).end_job("j", "SUCCEEDED");
  world.run_until(job_is("j", "Complete")).stop_operator().pass(700s);
  const auto before = world.writes().size();
  world.start_operator().run_until(is_gone("RayJob", "j"));
  std::vector<std::string> deletions;
  for (auto at = before; at < world.writes().size(); ++at)
    if (world.writes()[at].verb == kube::Verb::Delete || world.writes()[at].kind == "RayCluster")
      deletions.push_back(world.writes()[at].to_string());
  EXPECT_EQ(deletions, std::vector<std::string>{"delete RayJob default/j"});
  world.pass(1min);
  EXPECT_TRUE(world.mirror().list("RayCluster").empty());
}

TEST(RayJobCase, RJ_15_DeletedWhileRayHangsItIsStoppedAsSoonAsRayAnswers) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.apply(kJobOnC).run_until(ray_job_is("j", "RUNNING"));
  const auto id = world.id_of("j");
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.remove("RayJob", "j").pass(20s);
  EXPECT_TRUE(world.mirror().find("RayJob", "j")) << "it still tries";
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.run_until(is_gone("RayJob", "j"), 40s).settle();
  EXPECT_EQ(world.ray().stops(), std::vector{id});
}

TEST(RayJobCase, RJ_15_ButNotForEver) {
  World world;
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.apply(kJobOnC).run_until(ray_job_is("j", "RUNNING"));
  const auto id = world.id_of("j");
  world.ray().mood = RayDashboardDouble::Mood::Hangs;
  world.remove("RayJob", "j").run_until(is_gone("RayJob", "j"), 70s).settle();
  EXPECT_THAT(world.events("j"), Contains(HasSubstr("Ray did not stop job " + id)));
}

TEST(RayJobCase, RJ_21_AnInvalidEditOrphansNothing) {
  World world;
  world.apply(kept_job()).run_until(ray_job_is("j", "RUNNING"));
  world.patch("RayJob", "j", "{spec: {suspend: true}}")
      .run_until(job_has("InvalidUpdate"))
      .settle();
  EXPECT_EQ(deployment(world), "Running");
  EXPECT_TRUE(world.mirror().find("RayCluster", world.cluster_of("j")));
  world.expect_rest();
  world.crash().settle();  // what the last valid spec was is forgotten
  EXPECT_EQ(deployment(world), "Running");
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  world.patch("RayJob", "j", "{spec: {suspend: false}}").settle();
  EXPECT_FALSE(has_condition(world, "InvalidUpdate"));
}

TEST(RayJobCase, RJ_21_TheLastValidCleanUpIsCarriedOut) {
  World world;
  world.apply(job_with("  ttlSecondsAfterFinished: 60\n")).run_until(ray_job_is("j", "RUNNING"));
  world.patch("RayJob", "j", "{spec: {ttlSecondsAfterFinished: -1}}")
      .run_until(job_has("InvalidUpdate"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete"));
  const auto cluster = world.cluster_of("j");
  world.run_until(is_gone("RayCluster", cluster), 70s).settle();
}

TEST(RayJobCase, RJ_23_ASuspendedOneIsLeftInPeace) {
  struct : kube::RuntimeObserver {
    int of_rayjobs = 0;
    void ended(std::string_view controller, const kube::ObjectKey&, kube::PassEnd) override {
      of_rayjobs += controller == "rayjob";
    }
  } passes;
  World world({.observer = &passes});
  world.apply(job_with("  suspend: true\n")).run_until(job_is("j", "Suspended")).settle();
  const auto asked = world.ray().calls();
  EXPECT_GT(std::exchange(passes.of_rayjobs, 0), 0);
  world.expect_rest();
  EXPECT_EQ(passes.of_rayjobs, 0);
  EXPECT_EQ(world.ray().calls(), asked);
}

TEST(RayJobCase, RJ_25_SuspendedOnASharedClusterItIsStopped) {
  World world({.feature_gates = "RayJobSelectorSuspend=true"});
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.apply(kJobOnC).run_until(ray_job_is("j", "RUNNING"));
  const auto id = world.id_of("j");
  world.patch("RayJob", "j", "{spec: {suspend: true}}")
      .run_until(job_is("j", "Suspended"))
      .settle();
  EXPECT_EQ(world.ray().stops(), std::vector{id});
  EXPECT_TRUE(world.mirror().find("RayCluster", "c"));
  EXPECT_FALSE(world.mirror().find("Job", "j"));
  world.patch("RayJob", "j", "{spec: {suspend: false}}").run_until(ray_job_is("j", "RUNNING"));
  EXPECT_NE(world.id_of("j"), id);
}

TEST(RayJobCase, RJ_25_OneThatWasNeverSubmittedIsDoneAtOnce) {
  World world({.feature_gates = "RayJobSelectorSuspend=true"});
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.kubelet().hold({{"batch.kubernetes.io/job-name", "j"}});
  world.apply(kJobOnC).run_until(job_is("j", "Running"));
  world.patch("RayJob", "j", "{spec: {suspend: true}}").run_until(job_is("j", "Suspended"), 30s);
  EXPECT_TRUE(world.ray().stops().empty());
}

// The log that is kept of the job on this cluster; empty: there is none.
std::string kept_log(const World& world, const std::string& cluster) {
  const auto* map = world.mirror().find("ConfigMap", cluster + "-driver-log");
  return map ? std::string(string_at(*map, {"data", "driver.log"})) : std::string();
}

TEST(RayJobCase, RJ_39_TheEndOfTheLogOutlivesTheCluster) {
  for (const std::string mode : {"HTTPMode", "InteractiveMode", "SidecarMode"}) {
    SCOPED_TRACE(mode);
    World world({.feature_gates = "RayJobKeepLog=true"});
    world.ray().log = [](const std::string& id) { return "what " + id + " printed"; };
    world.apply(job_with("  ttlSecondsAfterFinished: 60\n  submissionMode: " + mode + "\n"));
    if (mode == "InteractiveMode") {
      world.run_until(job_is("j", "Waiting"));
      world.ray().submit("mine", uid_of(world.get("Pod", world.head(world.cluster_of("j")))));
      world.patch("RayJob", "j", "{spec: {jobId: mine}}");
    }
    world.run_until(ray_job_is("j", "RUNNING"));
    const auto cluster = world.cluster_of("j");
    const auto id = world.id_of("j");
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).pass(50s);
    EXPECT_EQ(kept_log(world, cluster), "") << "Ray still has it";
    world.run_until(is_gone("RayCluster", cluster), 15s).settle();
    EXPECT_EQ(kept_log(world, cluster), "what " + id + " printed");
    EXPECT_EQ(counted(world.events("j"), "KeptDriverLog"), 1);
    world.remove("RayJob", "j").run_until(is_gone("RayJob", "j")).settle();
    EXPECT_TRUE(world.mirror().list("ConfigMap").empty()) << "it goes with the RayJob";
  }
}

TEST(RayJobCase, RJ_39_EachAttemptsLogIsKept) {
  World world({.feature_gates = "RayJobKeepLog=true"});
  world.ray().log = [](const std::string& id) { return "what " + id + " printed"; };
  world.apply(job_with("  submissionMode: HTTPMode\n  backoffLimit: 1\n"))
      .run_until(ray_job_is("j", "RUNNING"));
  const auto first = world.cluster_of("j");
  const auto first_id = world.id_of("j");
  world.end_job("j", "FAILED").run_until({"the second attempt runs", [&](const World& w) {
                                            return ray_job_is("j", "RUNNING").holds(w) &&
                                                   w.cluster_of("j") != first;
                                          }});
  EXPECT_EQ(kept_log(world, first), "what " + first_id + " printed");
  world.end_job("j", "FAILED").run_until(job_is("j", "Failed")).settle();
  EXPECT_EQ(world.mirror().list("ConfigMap").size(), 2u);
}

TEST(RayJobCase, RJ_39_ALogThatCannotBeHadKeepsNoCluster) {
  enum class Obstacle { RayHangs, WriteIsRefused, HeadIsLost };
  for (const auto obstacle : {Obstacle::RayHangs, Obstacle::WriteIsRefused, Obstacle::HeadIsLost}) {
    SCOPED_TRACE(static_cast<int>(obstacle));
    World world({.feature_gates = "RayJobKeepLog=true"});
    world.apply(job_with("  ttlSecondsAfterFinished: 60\n  submissionMode: HTTPMode\n"))
        .run_until(ray_job_is("j", "RUNNING"));
    const auto cluster = world.cluster_of("j");
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete"));
    if (obstacle == Obstacle::RayHangs) world.ray().mood = RayDashboardDouble::Mood::Hangs;
    if (obstacle == Obstacle::HeadIsLost) world.kubelet().fail(world.head(cluster));
    if (obstacle == Obstacle::WriteIsRefused)
      world.faults().on_write = [](std::size_t, const kube::Request& request) {
        return request.resource == kube::kConfigMaps ? CallFault::Forbidden : CallFault::None;
      };
    world.run_until(is_gone("RayCluster", cluster), 90s).settle();
    EXPECT_EQ(kept_log(world, cluster), "");
    if (obstacle != Obstacle::HeadIsLost)
      EXPECT_EQ(counted(world.events("j"), "FailedToKeepDriverLog"), 1);
  }
}

TEST(RayJobCase, RJ_39_WithoutTheGateNothingIsKept) {
  World world;
  world.apply(job_with("  submissionMode: HTTPMode\n")).run_until(ray_job_is("j", "RUNNING"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
  EXPECT_EQ(world.mirror().created("ConfigMap"), 0);
}

TEST(RayJobCase, SEEN_36_RulesAndSuspendGoTogether) {
  for (const bool gate : {false, true}) {
    World world({.feature_gates = gate ? "RayJobSuspendWithRules=true" : ""});
    world.apply(kept_job() + R"(  suspend: true
  deletionStrategy:
    deletionRules: [{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}]
)");
    world.run_until(job_is("j", gate ? "Suspended" : "ValidationFailed")).settle();
    if (!gate) continue;
    world.patch("RayJob", "j", "{spec: {suspend: false}}").run_until(ray_job_is("j", "RUNNING"));
    world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete")).settle();
    EXPECT_TRUE(world.mirror().list("RayCluster").empty()) << "as the rule says";
  }
}

TEST(RayJobCase, SEEN_39_SuccessWaitsForTheSubmitterAndCleansUpNothingUnasked) {
  World world;
  world.apply(kept_job()).run_until(ray_job_is("j", "RUNNING"));
  world.ray().set(world.id_of("j"), "SUCCEEDED");  // its submitter still follows the log
  world.run_until(ray_job_is("j", "SUCCEEDED")).pass(1min);
  EXPECT_EQ(deployment(world), "Running");
  world.kubelet().finish(world.submitter_pod("j"), 0);
  world.run_until(job_is("j", "Complete")).settle();
  world.pass(24h);
  EXPECT_TRUE(world.mirror().find("RayCluster", world.cluster_of("j")));
  EXPECT_TRUE(world.mirror().find("Job", "j"));
}

}  // namespace
}  // namespace manta::integration
