// When a Job has failed or succeeded, and what follows.
#include "local/controllers/job_pass.h"

namespace manta::local {
namespace {

using kube::EventNote;
using kube::EventType;

bool past_backoff_limit(const JobPass& pass) {
  const auto limit = int_at(pass.job.spec, {"backoffLimit"}, 6);
  if (pass.failed_count > limit) return true;
  std::int64_t restarts = 0;
  for (const auto& pod : pass.active)
    if (pod->restarts_on_failure) restarts += pod->restarts;
  return limit == 0 ? restarts > 0 : restarts >= limit;
}

}  // namespace

std::optional<Time> deadline_of(const JobPass& pass) {
  const auto* seconds = find(pass.job.spec, {"activeDeadlineSeconds"});
  const auto start = parse_rfc3339(string_at(pass.status, {"startTime"}));
  if (seconds == nullptr || !start) return std::nullopt;
  return *start + std::chrono::seconds{int_at(pass.job.spec, {"activeDeadlineSeconds"})};
}

std::optional<Reason> decide_failure(const JobPass& pass) {
  if (!pass.policy_failure.empty()) return Reason{"PodFailurePolicy", pass.policy_failure};
  if (past_backoff_limit(pass))
    return Reason{"BackoffLimitExceeded", "Job has reached the specified backoff limit"};
  if (const auto deadline = deadline_of(pass); deadline && pass.context.now >= *deadline)
    return Reason{"DeadlineExceeded", "Job was active longer than specified deadline"};
  return std::nullopt;
}

bool is_successful(const JobPass& pass) {
  if (const auto wanted = pass.completions()) return pass.succeeded_count >= *wanted;
  return pass.succeeded_count > 0 && pass.active.empty() && pass.terminating == 0;
}

void end_job(JobPass& pass, std::string_view target, std::string_view final) {
  // The decision is stored before Pods go: their restarts may be what it was made of.
  if (!condition_true(pass.job.status, target)) return;
  delete_active(pass, "Job has ended");
  const bool over = pass.active.empty() && pass.terminating == 0 && pass.succeeded.empty() &&
                    pass.failed_.empty();
  if (!over) return;
  const auto why = reason_of(pass.status, target);
  set_condition(pass.status, final, true, why, pass.context.now);
  if (final == "Complete") {
    pass.status.as_object()["completionTime"] = format_rfc3339(pass.context.now);
    pass.status_event = EventNote{EventType::Normal, "Completed", "", "Job completed"};
  } else {
    pass.status_event = EventNote{EventType::Warning, why.reason, "", why.message};
  }
}

void expire(JobPass& pass) {
  const auto* ttl = find(pass.job.spec, {"ttlSecondsAfterFinished"});
  if (ttl == nullptr) return;
  const auto* end = find_condition(
      pass.job.status, condition_true(pass.job.status, "Complete") ? "Complete" : "Failed");
  const auto at = parse_rfc3339(string_at(*end, {"lastTransitionTime"}));
  if (!at) return;
  const auto due = *at + std::chrono::seconds{int_at(pass.job.spec, {"ttlSecondsAfterFinished"})};
  if (due > pass.context.now) return look_again(pass.plan, due - pass.context.now);
  kube::Write write{
      .kind = kube::WriteKind::Delete, .resource = kube::kJobs, .key = pass.job.meta.key};
  write.precondition_uid = pass.job.meta.uid;
  write.propagation = kube::Propagation::Foreground;
  write.tolerate = {ErrorCode::NotFound, ErrorCode::Conflict};
  write.why = "ttlSecondsAfterFinished";
  pass.writes.push_back(std::move(write));
}

}  // namespace manta::local
