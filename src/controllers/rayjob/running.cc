// Running: follow the Ray job until it has ended.
#include "controllers/rayjob/children.h"
#include "controllers/rayjob/dashboard.h"
#include "controllers/rayjob/deadlines.h"
#include "controllers/rayjob/states.h"
#include "controllers/rayjob/submitter.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

constexpr std::string_view kAppFailed = "AppFailed";
constexpr std::string_view kSubmissionFailed = "SubmissionFailed";
// How long Ray may take to say more of a job whose submitter has failed: a poll and its answer.
constexpr std::chrono::seconds kLastWord{5};

void arm_check_timer(Draft& draft) {
  if (!draft.status.jobStatusCheckFailureStartTime)
    draft.status.jobStatusCheckFailureStartTime = draft.now();
  draft.look_at(*draft.status.jobStatusCheckFailureStartTime + draft.settings.job_check_timeout);
}

// Ray does not know the job.
void handle_unknown_job(Draft& draft, const SubmitterState& submitter) {
  if (submission_mode(draft.spec()) == Mode::Http) {
    auto submit = submit_write(draft);
    if (!submit || draft.context.failures.contains("submit"))
      arm_check_timer(draft);
    else
      draft.status.jobStatusCheckFailureStartTime.reset();
    if (submit) draft.plan.stage().push_back(std::move(*submit));
    return;
  }
  if (submitter.finished)
    draft.fail(kAppFailed, "Submitter completed but Ray job not found in RayCluster.");
}

void handle_job_info(Draft& draft, const JobInfo& info, const SubmitterState& submitter) {
  auto& status = draft.status;
  status.jobStatusCheckFailureStartTime.reset();
  status.rayClusterStatus = draft.seen.cluster->status;
  status.jobStatus = info.status;
  status.message = info.message;
  if (info.start) status.rayJobInfo.startTime = info.start;
  if (info.end) status.rayJobInfo.endTime = info.end;
  status.reason.clear();
  const auto mode = submission_mode(draft.spec());
  const bool has_submitter = mode == Mode::K8sJob || mode == Mode::Sidecar;
  if (!is_terminal_job(info.status)) return;
  if (has_submitter && !submitter.finished) {
    if (status.rayJobInfo.endTime)
      draft.look_at(*status.rayJobInfo.endTime + draft.settings.job_transition_grace);
    return;
  }
  draft.move_to(info.status == "FAILED" ? "Failed" : "Complete");
  if (info.status == "FAILED") status.reason = kAppFailed;
}

// The submitter fails when its job does, and Ray was asked before that: only a newer answer tells a
// failed job from a failed submission.
bool awaits_last_word(Draft& draft, const SubmitterState& submitter) {
  // A node's clock may run ahead of ours: no newer answer would ever be new enough.
  if (!submitter.finished || *submitter.finished > draft.now()) return false;
  const auto fact = draft.context.facts.find(kJobInfoFact);
  // Conditions tell whole seconds.
  const bool newer = fact != draft.context.facts.end() &&
                     fact->second.at >= *submitter.finished + std::chrono::seconds{1};
  return !newer && !draft.has_come(*submitter.finished + kLastWord);
}

// True when the submitter's own end decides, whatever Ray says.
bool ends_by_submitter(Draft& draft, const SubmitterState& submitter, const JobInfo* info,
                       bool asked) {
  auto& status = draft.status;
  if (submitter.head_lost) {
    draft.fail(kAppFailed, "Ray head pod not found.");
    return true;
  }
  // A job that Ray reports as ended is judged by that, however late we are (spec/04, surprise 2).
  const bool ended = info && is_terminal_job(info->status);
  if (submitter.finished && asked && !ended &&
      draft.has_come(*submitter.finished + kSubmitterFinishedTimeout)) {
    status.jobStatus = "FAILED";
    draft.fail(
        "JobDeploymentStatusTransitionGracePeriodExceeded",
        fmt::format("The RayJob submitter finished at {} but the ray job did not reach terminal "
                    "state within {}s",
                    plain_time(*submitter.finished), kSubmitterFinishedTimeout.count()));
    return true;
  }
  if (!submitter.failure) return false;
  if (status.jobStatus == "FAILED" || (info && info->status == "FAILED")) {
    status.jobStatus = "FAILED";
    draft.move_to("Failed");
    status.reason = kAppFailed;
  } else if (!awaits_last_word(draft, submitter)) {
    draft.fail(kSubmissionFailed, *submitter.failure);
  }
  return true;
}

}  // namespace

void plan_running(Draft& draft) {
  if (draft.spec().suspend) return draft.move_to("Suspending");
  if (active_deadline_passed(draft) || transition_grace_passed(draft) ||
      status_check_timed_out(draft))
    return;
  if (!ensure_cluster(draft)) return;
  ensure_head_service(draft);
  const auto submitter = look_at_submitter(draft.seen, draft.settings);
  if (submitter.unknown) return;

  const bool reachable = dashboard_reachable(draft.seen);
  if (reachable) draft.plan.facts.push_back(job_info_request(draft));
  const auto fact = draft.context.facts.find(kJobInfoFact);
  const bool answered = reachable && fact != draft.context.facts.end();
  Result<JobInfo> info = failed(ErrorCode::Unavailable, "not asked yet");
  if (answered) {
    if (fact->second.answer)
      info = parse_job_info(*fact->second.answer);
    else
      info = std::unexpected(fact->second.answer.error());
  }
  if (ends_by_submitter(draft, submitter, info ? &*info : nullptr, answered || !reachable)) return;
  if (!answered) return;
  if (info)
    handle_job_info(draft, *info, submitter);
  else if (info.error().code == ErrorCode::NotFound)
    handle_unknown_job(draft, submitter);
  else
    arm_check_timer(draft);
}

}  // namespace manta::controllers::rayjob
