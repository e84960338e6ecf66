// Running: follow the Ray job until it has ended.
#include "controllers/rayjob/children.h"
#include "controllers/rayjob/dashboard.h"
#include "controllers/rayjob/deadlines.h"
#include "controllers/rayjob/notices.h"
#include "controllers/rayjob/obstacles.h"
#include "controllers/rayjob/states.h"
#include "controllers/rayjob/submitter.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

constexpr std::string_view kAppFailed = "AppFailed";
constexpr std::string_view kSubmissionFailed = "SubmissionFailed";
// How long Ray may take to say more of a job whose submitter has failed: a poll and its answer.
constexpr std::chrono::seconds kLastWord{5};

// The submitter ends when its job does, and Ray was asked before that: only a newer answer tells a
// failed job from a failed submission, and a job that ended between two questions from one that
// never was.
bool awaits_last_word(Draft& draft, const SubmitterState& submitter) {
  // A node's clock may run ahead of ours: no newer answer would ever be new enough.
  if (!submitter.finished || *submitter.finished > draft.now()) return false;
  const auto fact = draft.context.facts.find(kJobInfoFact);
  // A sidecar may have ended long before its cluster was ready, and a new process has asked nothing
  // yet: Ray's first answer comes soon, if only that nobody answers.
  if (fact == draft.context.facts.end()) return dashboard_reachable(draft.seen);
  // Conditions tell whole seconds.
  const bool newer = fact->second.at >= *submitter.finished + std::chrono::seconds{1};
  return !newer && !draft.has_come(*submitter.finished + kLastWord);
}

// Ray does not know the job.
void handle_unknown_job(Draft& draft, const SubmitterState& submitter) {
  if (submission_mode(draft.spec()) == Mode::Http) {
    if (draft.settings.job_gates.count_lost_heads && !draft.status.jobStatus.empty())
      return draft.fail(kAppFailed, "Ray has forgotten the job: the head it ran on was lost.");
    auto submit = submit_write(draft);
    if (!submit || draft.context.failures.contains("submit"))
      count_failed_check(draft);
    else
      end_failed_checks(draft);
    if (submit) draft.plan.stage().push_back(std::move(*submit));
    return;
  }
  if (submission_mode(draft.spec()) == Mode::Interactive) return tell_unknown_job(draft);
  if (submitter.gone) return count_failed_check(draft);
  if (submitter.finished && !awaits_last_word(draft, submitter))
    draft.fail(kAppFailed, "Submitter completed but Ray job not found in RayCluster.");
}

// What Ray says of the job, into the status.
void take_job_info(Draft& draft, const JobInfo& info) {
  auto& status = draft.status;
  end_failed_checks(draft);
  status.rayClusterStatus = draft.seen.cluster->status;
  status.jobStatus = info.status;
  status.message = info.message;
  if (info.start) status.rayJobInfo.startTime = info.start;
  // A job that runs has no end: an earlier attempt's would stay.
  if (info.end || !is_terminal_job(info.status)) status.rayJobInfo.endTime = info.end;
}

void handle_job_info(Draft& draft, const JobInfo& info, const SubmitterState& submitter) {
  take_job_info(draft, info);
  draft.status.reason.clear();
  const auto mode = submission_mode(draft.spec());
  const bool has_submitter = mode == Mode::K8sJob || mode == Mode::Sidecar;
  if (!is_terminal_job(info.status)) return;
  if (has_submitter && !submitter.finished && !submitter.gone) {
    transition_grace_passed(draft);
    return;
  }
  take_notice_back(draft, kSubmitterEnded);
  draft.move_to(info.status == "FAILED" ? "Failed" : "Complete");
  if (info.status == "FAILED") draft.status.reason = kAppFailed;
}

// The submitter ended well and Ray says that the job goes on: a log stream that broke, say. RJ-05
void handle_early_end(Draft& draft, const SubmitterState& submitter) {
  if (!draft.has_come(*submitter.finished + kSubmitterFinishedTimeout)) return;
  if (!draft.settings.job_grace_is_set)
    return give_notice(
        draft, kSubmitterEnded,
        fmt::format("the submitter finished at {} while Ray still runs the job, which "
                    "is followed without it",
                    plain_time(*submitter.finished)));
  draft.status.jobStatus = "FAILED";
  draft.fail(
      "JobDeploymentStatusTransitionGracePeriodExceeded",
      fmt::format("The RayJob submitter finished at {} but the ray job did not reach terminal "
                  "state within {}s",
                  plain_time(*submitter.finished), kSubmitterFinishedTimeout.count()));
}

// The submitter failed. True when that decides; what Ray says of an ended job comes first.
bool ends_by_failed_submitter(Draft& draft, const SubmitterState& submitter, const JobInfo* info) {
  auto& status = draft.status;
  const bool ended = info && is_terminal_job(info->status);
  if (ended && submitter.finished && info->status != "FAILED") return false;
  if (status.jobStatus == "FAILED" || (info && info->status == "FAILED")) {
    if (info) take_job_info(draft, *info);
    status.jobStatus = "FAILED";
    draft.move_to("Failed");
    status.reason = kAppFailed;
  } else if (!awaits_last_word(draft, submitter)) {
    draft.fail(kSubmissionFailed, *submitter.failure);
  }
  return true;
}

void follow(Draft& draft) {
  if (draft.spec().suspend) return draft.move_to("Suspending");
  if (active_deadline_passed(draft) || transition_grace_passed(draft) ||
      status_check_timed_out(draft))
    return;
  if (!ensure_cluster(draft)) return;
  ensure_head_service(draft);
  const auto submitter = look_at_submitter(draft.seen, draft.settings);
  if (submitter.unknown) return;
  if (submitter.head_lost) return draft.fail(kAppFailed, "Ray head pod not found.");

  const bool reachable = dashboard_reachable(draft.seen);
  if (reachable) end_unreachable(draft);
  const auto answer = reachable ? ask_job_info(draft) : std::nullopt;
  const JobInfo* info = answer && *answer ? &**answer : nullptr;
  if (submitter.failure && ends_by_failed_submitter(draft, submitter, info)) return;
  if (!reachable)
    tell_unreachable(draft);
  else if (!answer)
    return;
  else if (info)
    handle_job_info(draft, *info, submitter);
  else if ((*answer).error().code == ErrorCode::NotFound)
    handle_unknown_job(draft, submitter);
  else
    count_failed_check(draft);
  note_submitter_trouble(draft);
  const bool ended = info && is_terminal_job(info->status);
  if (submitter.finished && !submitter.failure && !ended &&
      (info || draft.settings.job_grace_is_set) && draft.status.jobDeploymentStatus == "Running")
    handle_early_end(draft, submitter);
}

}  // namespace

void plan_running(Draft& draft) {
  follow(draft);
  if (draft.status.jobDeploymentStatus == "Running") return;
  // What ended it has the last word, in status.message.
  take_notice_back(draft, kDashboardSilent);
  take_notice_back(draft, kJobUnknown);
}

}  // namespace manta::controllers::rayjob
