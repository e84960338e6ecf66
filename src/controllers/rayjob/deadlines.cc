#include "controllers/rayjob/deadlines.h"

#include "base/excerpt.h"
#include "controllers/rayjob/dashboard.h"
#include "controllers/rayjob/notices.h"
#include "controllers/rayjob/submitter.h"
#include "ray/builders/cluster_facts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>

namespace manta::controllers::rayjob {
namespace {

bool deadline_passed(Draft& draft, const ray::Opt<ray::Int32>& seconds, std::optional<Time> start,
                     std::string_view reason, std::string_view field) {
  if (!seconds || !start) return false;
  if (!draft.has_come(*start + std::chrono::seconds{*seconds})) return false;
  draft.fail(reason,
             fmt::format("The RayJob has passed the {0}. StartTime: {1} +0000 UTC. {2}: {3}", field,
                         plain_time(*start),
                         field == "activeDeadlineSeconds" ? "ActiveDeadlineSeconds"
                                                          : "PreRunningDeadlineSeconds",
                         *seconds));
  return true;
}

// How long Ray may take to stop a job whose deadline has passed.
constexpr std::chrono::seconds kStopWindow{30};
// Heads that may fail in an init container before the RayJob does.
constexpr int kHeadTries = 3;

// True while Ray is being asked to stop the job.
bool is_being_stopped(Draft& draft) {
  const auto& status = draft.status;
  if (!draft.settings.job_gates.stop_at_deadline || status.jobDeploymentStatus != "Running" ||
      is_terminal_job(status.jobStatus) || !dashboard_reachable(draft.seen))
    return false;
  const auto deadline =
      *status.startTime + std::chrono::seconds{*draft.spec().activeDeadlineSeconds};
  if (draft.has_come(deadline + kStopWindow)) return false;
  const auto answer = ask_job_info(draft);
  if (!answer) return true;
  if (!*answer) return (*answer).error().code != ErrorCode::NotFound;
  if (is_terminal_job((*answer)->status)) {
    draft.status.jobStatus = (*answer)->status;
    return false;
  }
  draft.plan.stage().push_back(stop_write(draft, "activeDeadlineSeconds has passed"));
  return true;
}

}  // namespace

std::string plain_time(Time time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(
                         std::chrono::time_point_cast<std::chrono::system_clock::duration>(time))));
}

bool active_deadline_passed(Draft& draft) {
  const auto& seconds = draft.spec().activeDeadlineSeconds;
  const auto& start = draft.status.startTime;
  if (!seconds || !start || !draft.has_come(*start + std::chrono::seconds{*seconds})) return false;
  if (is_being_stopped(draft)) return true;
  return deadline_passed(draft, seconds, start, "DeadlineExceeded", "activeDeadlineSeconds");
}

bool pre_running_deadline_passed(Draft& draft) {
  return deadline_passed(draft, draft.spec().preRunningDeadlineSeconds, draft.status.startTime,
                         "PreRunningDeadlineExceeded", "preRunningDeadlineSeconds");
}

bool waiting_deadline_passed(Draft& draft) {
  auto start = draft.status.startTime;
  const auto* waiting = ray::find_condition(draft.status.conditions, kWaitingForUser);
  if (draft.settings.job_gates.waiting_window && waiting && waiting->lastTransitionTime)
    start = waiting->lastTransitionTime;
  return deadline_passed(draft, draft.spec().preRunningDeadlineSeconds, start,
                         "PreRunningDeadlineExceeded", "preRunningDeadlineSeconds");
}

bool head_init_failed(Draft& draft) {
  if (!draft.settings.job_gates.head_init_failure || draft.seen.heads.empty()) return false;
  const auto& head = *draft.seen.heads.front();
  if (!head.trouble || !head.trouble->starts_with("init container ") ||
      head.trouble->find(" exited with code ") == std::string::npos)
    return false;
  const auto* before = ray::find_condition(draft.status.conditions, kHeadInitFailing);
  // "<n> of <limit>: Pod <name>: <its words>": each Pod counts once.
  int tries = before ? std::atoi(before->message.c_str()) : 0;
  const auto pod = fmt::format("Pod {}: ", head.meta.key.name);
  if (!before || before->message.find(pod) == std::string::npos) ++tries;
  give_notice(draft, kHeadInitFailing,
              fmt::format("{} of {}: {}{}", tries, kHeadTries, pod, *head.trouble));
  if (tries < kHeadTries) return false;
  draft.fail("AppFailed", fmt::format("{}{}", pod, *head.trouble));
  return true;
}

bool transition_grace_passed(Draft& draft) {
  auto& status = draft.status;
  if (!is_terminal_job(status.jobStatus) || !status.rayJobInfo.endTime) return false;
  if (!draft.has_come(*status.rayJobInfo.endTime + draft.settings.job_transition_grace))
    return false;
  draft.move_to(status.jobStatus == "FAILED" ? "Failed" : "Complete");
  status.reason = "JobDeploymentStatusTransitionGracePeriodExceeded";
  status.message =
      "JobDeploymentStatus does not transition to Complete or Failed within the grace period after "
      "JobStatus reaches a terminal state.";
  return true;
}

namespace {

// How long checks may fail before that is told.
constexpr std::chrono::seconds kUntold{30};
constexpr std::size_t kLongestCause = 256;

const kube::Fact* job_info_fact(const Draft& draft) {
  const auto fact = draft.context.facts.find(kJobInfoFact);
  return fact == draft.context.facts.end() ? nullptr : &fact->second;
}

// Why Ray will never know the job: it does not, and nobody is left who could submit it.
std::optional<std::string> why_unknown_for_good(const Draft& draft) {
  const auto* fact = job_info_fact(draft);
  if (!fact || fact->answer || fact->answer.error().code != ErrorCode::NotFound)
    return std::nullopt;
  const auto gone = look_at_submitter(draft.seen, draft.settings).gone;
  if (!gone) return std::nullopt;
  return fmt::format("Ray does not know job {}, and {}", excerpt(draft.status.jobId, kLongestCause),
                     *gone);
}

// Of the last failed check; empty when that is not known, as in a new process.
std::string cause_of_failure(const Draft& draft) {
  const auto* fact = job_info_fact(draft);
  if (!fact) return {};
  if (auto unknown = why_unknown_for_good(draft)) return *unknown;
  if (fact->answer) {
    const auto info = parse_job_info(*fact->answer);
    return info ? std::string() : excerpt(info.error().message, kLongestCause);
  }
  const auto& error = fact->answer.error();
  if (error.code == ErrorCode::NotFound && submission_mode(draft.spec()) == Mode::Http) {
    // Then the submission is what fails.
    if (const auto submit = submit_write(draft); !submit)
      return excerpt(submit.error().message, kLongestCause);
    const auto refused = draft.context.failures.find("submit");
    if (refused != draft.context.failures.end())
      return excerpt(refused->second.error.message, kLongestCause);
  }
  return excerpt(error.message, kLongestCause);
}

constexpr std::string_view kCannotBeAsked = "Ray cannot be asked about the job: ";

// The first words stay: causes differ from check to check, and each change would be a write and
// each turn from one notice to the other an event.
void tell_once(Draft& draft, std::string_view type, std::string words) {
  const auto& conditions = draft.status.conditions;
  if (ray::condition_is_true(conditions, kJobUnknown) || ray::condition_is_true(conditions, type))
    return;
  take_notice_back(draft, kDashboardSilent);
  give_notice(draft, type, std::move(words));
}

}  // namespace

void count_failed_check(Draft& draft) {
  auto& since = draft.status.jobStatusCheckFailureStartTime;
  if (!since) since = draft.now();
  draft.look_at(*since + draft.settings.job_check_timeout);
  if (!draft.has_come(*since + kUntold)) return;
  auto cause = cause_of_failure(draft);
  if (cause.empty()) return;
  if (why_unknown_for_good(draft)) return tell_once(draft, kJobUnknown, std::move(cause));
  tell_once(
      draft, kDashboardSilent,
      fmt::format("job status checks have been failing since {}: {}", plain_time(*since), cause));
}

void end_failed_checks(Draft& draft) {
  draft.status.jobStatusCheckFailureStartTime.reset();
  take_notice_back(draft, kDashboardSilent);
  take_notice_back(draft, kJobUnknown);
}

void tell_unreachable(Draft& draft) {
  const auto& cluster = *draft.seen.cluster;
  tell_once(draft, kDashboardSilent,
            fmt::format("{}Secret {}, with the token of RayCluster {}, is not there or has no key "
                        "auth_token",
                        kCannotBeAsked, ray::auth_secret_name(cluster), cluster.meta.key.name));
}

void end_unreachable(Draft& draft) {
  const auto* silent = ray::find_condition(draft.status.conditions, kDashboardSilent);
  if (silent && silent->message.starts_with(kCannotBeAsked))
    take_notice_back(draft, kDashboardSilent);
}

void tell_unknown_job(Draft& draft) {
  const auto* fact = job_info_fact(draft);
  if (!fact || !fact->failing_since || !draft.has_come(*fact->failing_since + kUntold)) return;
  tell_once(
      draft, kJobUnknown,
      fmt::format("Ray does not know job {}; in InteractiveMode nobody but its user submits it",
                  excerpt(draft.status.jobId, kLongestCause)));
}

bool status_check_timed_out(Draft& draft) {
  const auto since = draft.status.jobStatusCheckFailureStartTime;
  const auto limit = draft.settings.job_check_timeout;
  if (!since || !draft.has_come(*since + limit)) return false;
  if (draft.settings.job_gates.patience && has_ready_head(draft.seen) &&
      !why_unknown_for_good(draft) && draft.seen.heads.front()->meta.created <= *since) {
    give_notice(draft, kDashboardSilent,
                fmt::format("Ray has not answered since {}; its head Pod {} is Ready",
                            plain_time(*since), draft.seen.heads.front()->meta.key.name));
    return false;
  }
  // Upstream's sentence ends without the cause.
  const auto cause = cause_of_failure(draft);
  draft.fail("JobStatusCheckTimeoutExceeded",
             fmt::format("Job status checks have been failing since {}; exceeded timeout of {}s{}",
                         plain_time(*since),
                         std::chrono::duration_cast<std::chrono::seconds>(limit).count(),
                         cause.empty() ? "" : "; the last one: " + cause));
  return true;
}

}  // namespace manta::controllers::rayjob
