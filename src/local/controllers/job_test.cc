#include "local/controllers/job.h"

#include "local/controllers/job_pod.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

using std::chrono::seconds;

const Time kNow{seconds{1'700'000'000}};
const std::string kNowText = format_rfc3339(kNow);

struct PodSpec {
  const char* phase = "Running";
  bool deleting = false;
  bool tracked = true;  // has the finalizer
  std::int64_t exit_code = 1;
  seconds ended_ago{0};
  std::int64_t restarts = 0;
  const char* owner = "job-uid";
};

struct Case {
  const char* name;
  const char* spec;
  const char* status;
  std::vector<PodSpec> pods = {};
  const char* want = "";  // writes, then status conditions and counters
};

std::shared_ptr<const PodView> make_pod(const PodSpec& spec, int index) {
  PodView pod;
  pod.meta.key = {"ns", "p" + std::to_string(index)};
  pod.meta.uid = "u" + std::to_string(index);
  pod.meta.created = kNow - seconds{100 - index};
  pod.meta.owners = {{"batch/v1", "Job", "j", spec.owner, true, true}};
  if (spec.tracked) pod.meta.finalizers = {std::string(kJobTracking)};
  if (spec.deleting) pod.meta.deleting = kNow;
  pod.phase = spec.phase;
  pod.restarts = spec.restarts;
  pod.restarts_on_failure = spec.restarts > 0;
  if (pod.finished()) pod.ends = {{"main", spec.exit_code, kNow - spec.ended_ago}};
  return std::make_shared<PodView>(std::move(pod));
}

std::string word(const kube::Write& write) {
  if (write.kind == kube::WriteKind::Create) return "create";
  if (write.kind == kube::WriteKind::Delete)
    return "delete " + (write.resource == kube::kJobs ? "job" : write.key.name);
  return "untrack " + write.key.name;
}

/// "create, untrack p0 | Failed=BackoffLimitExceeded failed=2"
std::string describe(const kube::Plan& plan) {
  std::string text;
  for (const auto& stage : plan.stages)
    for (const auto& write : stage) text += (text.empty() ? "" : ", ") + word(write);
  if (!plan.status) return text;
  const auto& status = plan.status->body.at("status");
  text += " |";
  for (const auto& condition : array_at(status, {"conditions"}))
    if (string_at(condition, {"status"}) == "True")
      text += " " + std::string(string_at(condition, {"type"})) + "=" +
              std::string(string_at(condition, {"reason"}));
  for (const auto* counter : {"active", "succeeded", "failed"})
    if (const auto* value = find(status, {counter}); value != nullptr && value->is_number())
      text += std::string(" ") + counter + "=" + std::to_string(int_at(status, {counter}));
  for (const auto* list : {"succeeded", "failed"})
    if (!array_at(status, {"uncountedTerminatedPods", list}).empty())
      text += std::string(" uncounted-") + list;
  return text;
}

const std::string kStarted = R"({"startTime":")" + kNowText + R"(","ready":0,"terminating":0)";

const Case kCases[] = {
    {"NewJobMakesItsPod", R"({})", "{}", {}, "create |"},
    {"RunningPodIsCounted", R"({})", "{}", {{}}, " | active=1"},
    {"ParallelismMakesSeveral",
     R"({"parallelism":3,"completions":5})",
     "{}",
     {{}},
     "create, create | active=1"},
    {"NoMorePodsThanCompletionsLeft",
     R"({"parallelism":3,"completions":1})",
     "{}",
     {{}},
     " | active=1"},
    {"SurplusGoesNewestFirst",
     R"({"parallelism":1,"completions":5})",
     "{}",
     {{}, {}},
     "delete p1 | active=2"},
    {"SuccessIsNotedBeforeItIsCounted",
     R"({})",
     "{}",
     {{.phase = "Succeeded", .exit_code = 0}},
     " | SuccessCriteriaMet=CompletionsReached uncounted-succeeded"},
    {"NotedPodLosesItsFinalizer",
     R"({})",
     R"({"uncountedTerminatedPods":{"succeeded":["u0"]},
         "conditions":[{"type":"SuccessCriteriaMet","status":"True","reason":"CompletionsReached"}]})",
     {{.phase = "Succeeded"}},
     "untrack p0 | SuccessCriteriaMet=CompletionsReached uncounted-succeeded"},
    {"WithoutFinalizerItMovesToTheCounter",
     R"({})",
     R"({"uncountedTerminatedPods":{"succeeded":["u0"]},
         "conditions":[{"type":"SuccessCriteriaMet","status":"True","reason":"CompletionsReached"}]})",
     {{.phase = "Succeeded", .tracked = false}},
     " | SuccessCriteriaMet=CompletionsReached Complete=CompletionsReached succeeded=1"},
    {"GonePodIsStillCountedOnce",
     R"({})",
     R"({"uncountedTerminatedPods":{"succeeded":["u0"]},
         "conditions":[{"type":"SuccessCriteriaMet","status":"True","reason":"CompletionsReached"}]})",
     {},
     " | SuccessCriteriaMet=CompletionsReached Complete=CompletionsReached succeeded=1"},
    {"FailedPodIsReplacedAfterItsBackoff",
     R"({"backoffLimit":2})",
     "{}",
     {{.phase = "Failed", .ended_ago = seconds{11}}},
     "create | uncounted-failed"},
    {"FailedPodIsNotReplacedAtOnce",
     R"({"backoffLimit":2})",
     "{}",
     {{.phase = "Failed", .ended_ago = seconds{1}}},
     " | uncounted-failed"},
    {"PastTheBackoffLimit",
     R"({"backoffLimit":0})",
     "{}",
     {{.phase = "Failed"}},
     " | FailureTarget=BackoffLimitExceeded uncounted-failed"},
    {"DecidedFailureTakesPodsAway",
     R"({"backoffLimit":0})",
     R"({"failed":1,"conditions":[{"type":"FailureTarget","status":"True","reason":"DeadlineExceeded"}]})",
     {{}},
     "delete p0 | FailureTarget=DeadlineExceeded active=1 failed=1"},
    {"FailedOnceAllPodsAreGone",
     R"({"backoffLimit":0})",
     R"({"failed":1,"conditions":[{"type":"FailureTarget","status":"True","reason":"DeadlineExceeded"}]})",
     {},
     " | FailureTarget=DeadlineExceeded Failed=DeadlineExceeded failed=1"},
    {"RestartsCountForOnFailure",
     R"({"backoffLimit":2})",
     "{}",
     {{.restarts = 2}},
     " | FailureTarget=BackoffLimitExceeded active=1"},
    {"DeadlinePassed",
     R"({"activeDeadlineSeconds":0})",
     "{}",
     {{}},
     " | FailureTarget=DeadlineExceeded active=1"},
    {"PolicyFailsTheJob",
     R"({"podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}]}})",
     "{}",
     {{.phase = "Failed", .exit_code = 42}},
     " | FailureTarget=PodFailurePolicy uncounted-failed"},
    {"PolicyIgnoresThePod",
     R"({"backoffLimit":0,"podFailurePolicy":{"rules":[{"action":"Ignore","onExitCodes":{"operator":"In","values":[42]}}]}})",
     "{}",
     {{.phase = "Failed", .exit_code = 42, .ended_ago = seconds{60}}},
     "untrack p0, create |"},
    {"SuspendedHasNoPods",
     R"({"suspend":true})",
     "{}",
     {{}},
     "delete p0 | Suspended=JobSuspended active=1"},
    {"SuspensionIsNoFailure",
     R"({"suspend":true,"backoffLimit":0})",
     "{}",
     {{.deleting = true}},
     "untrack p0 | Suspended=JobSuspended"},
    {"DeletedPodIsReplacedAndCounts",
     R"({"backoffLimit":2})",
     "{}",
     {{.deleting = true}},
     "create | uncounted-failed"},
    {"PodsOfAnEarlierJobAreLetGo",
     R"({"suspend":true})",
     "{}",
     {{.owner = "old"}},
     "untrack p0 | Suspended=JobSuspended"},
    {"FinishedJobExpires",
     R"({"ttlSecondsAfterFinished":0})",
     R"({"succeeded":1,"ready":0,"terminating":0,"conditions":[{"type":"Complete","status":"True",
         "lastTransitionTime":"2020-01-01T00:00:00Z"}]})",
     {},
     "delete job"},
    {"IndexedIsRefused", R"({"completionMode":"Indexed"})", "{}", {}, ""},
};

class PlanJob : public testing::TestWithParam<Case> {};
TEST_P(PlanJob, Row) {
  const auto& row = GetParam();
  JobView job{.spec = *parse_json(row.spec), .status = *parse_json(row.status)};
  job.meta.key = {"ns", "j"};
  job.meta.uid = "job-uid";
  JobSeen seen{.job = std::make_shared<JobView>(job)};
  for (std::size_t i = 0; i < row.pods.size(); ++i)
    seen.pods.push_back(make_pod(row.pods[i], int(i)));
  EXPECT_EQ(describe(plan_job(seen, {kNow, {}, {}})), row.want);
}
INSTANTIATE_TEST_SUITE_P(, PlanJob, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(PlanJobLaw, SettledStatusIsNotWrittenAgain) {
  JobView job{.spec = *parse_json(R"({"backoffLimit":2})"), .status = JsonObject{}};
  job.meta.key = {"ns", "j"};
  job.meta.uid = "job-uid";
  JobSeen seen{.job = std::make_shared<JobView>(job), .pods = {make_pod({}, 0)}};
  const auto first = plan_job(seen, {kNow, {}, {}});
  ASSERT_TRUE(first.status);
  merge_patch(job.status, first.status->body.at("status"));
  seen.job = std::make_shared<JobView>(job);
  const auto second = plan_job(seen, {kNow, {}, {}});
  EXPECT_TRUE(second.stages.empty());
  EXPECT_FALSE(second.status) << dump_json(second.status->body);
}

TEST(PlanJobLaw, GoneJobLeavesNoFinalizer) {
  EXPECT_EQ(describe(plan_job({.pods = {make_pod({}, 0), make_pod({.tracked = false}, 1)}},
                              {kNow, {}, {}})),
            "untrack p0");
}

TEST(BuildJobPod, CarriesNameLabelsOwnerAndTheTemplatesOwn) {
  JobView job{.spec = *parse_json(
                  R"({"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[1]}}})")};
  job.meta.key = {"ns", "j"};
  job.meta.uid = "job-uid";
  const auto pod = build_job_pod(job);
  EXPECT_EQ(string_at(pod, {"metadata", "generateName"}), "j-");
  for (const auto* label : {"job-name", "batch.kubernetes.io/job-name"})
    EXPECT_EQ(string_at(pod, {"metadata", "labels", label}), "j");
  EXPECT_EQ(string_at(pod, {"metadata", "labels", "a"}), "b");
  EXPECT_EQ(dump_json(pod.at("spec")), R"({"containers":[1]})");
  EXPECT_EQ(string_at(array_at(pod, {"metadata", "ownerReferences"})[0], {"uid"}), "job-uid");
}

TEST(PodBackoff, DoublesToTenMinutes) {
  EXPECT_EQ(pod_backoff(1), seconds{10});
  EXPECT_EQ(pod_backoff(3), seconds{40});
  EXPECT_EQ(pod_backoff(1000), seconds{600});
}

}  // namespace
}  // namespace manta::local
