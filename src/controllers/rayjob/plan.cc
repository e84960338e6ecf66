#include "controllers/rayjob/plan.h"

#include "base/excerpt.h"
#include "controllers/rayjob/children.h"
#include "controllers/rayjob/dashboard.h"
#include "controllers/rayjob/gang.h"
#include "controllers/rayjob/notices.h"
#include "controllers/rayjob/states.h"
#include "controllers/rayjob/tail.h"
#include "controllers/rayjob/validation.h"
#include "controllers/writes.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

// How long a deleted RayJob tries to stop its job on a cluster that lives on. RJ-15.
constexpr std::chrono::seconds kStopLimit{60};

// Of a cluster that goes with the RayJob one attempt is enough, whatever comes of it.
std::vector<ErrorCode> any_error() {
  std::vector<ErrorCode> codes;
  for (int code = 0; code <= static_cast<int>(ErrorCode::Cancelled); ++code)
    codes.push_back(static_cast<ErrorCode>(code));
  return codes;
}

// Ray is asked to stop what may still run, then the finalizer goes whatever the answer.
void plan_deletion(Draft& draft) {
  if (!draft.job().meta.has_finalizer(ray::kFinalizerRayJob)) return;
  const auto& stored = draft.job().status;
  const bool lives_on = selects_cluster(draft.spec());
  // A cluster of ours that is gone from the cache may have a head that is not gone yet.
  const bool may_run = !is_terminal_job(stored.jobStatus) && !stored.dashboardURL.empty() &&
                       !stored.jobId.empty() && (draft.seen.cluster || !lives_on);
  auto let_go = finalizer_write(draft.job(), false);
  if (may_run && !draft.has_come(*draft.job().meta.deleting + kStopLimit)) {
    if (dashboard_reachable(draft.seen)) {
      auto stop = stop_write(draft, "the RayJob is deleted");
      stop.tolerate = lives_on ? std::vector{ErrorCode::NotFound} : any_error();
      draft.plan.stage().push_back(std::move(stop));
    } else if (lives_on) {
      return;  // its token may still come
    }
  } else if (may_run && lives_on) {
    let_go.done_event =
        warning("FailedToStopRayJob", "Delete",
                fmt::format("Ray did not stop job {} on RayCluster {} within {}s; it may still run",
                            stored.jobId, stored.rayClusterName, kStopLimit.count()));
  }
  draft.plan.stage().push_back(std::move(let_go));
}

// A spec that was put right goes on where it was, RJ-20; one of a job that has ended was made
// invalid under another operator. RJ-21
void plan_after_invalid(Draft& draft) {
  auto& status = draft.status;
  status.reason.clear();
  status.message.clear();
  if (status.endTime)
    draft.move_to(status.jobStatus == "SUCCEEDED" || status.jobStatus == "STOPPED" ? "Complete"
                                                                                   : "Failed");
  else
    draft.move_to(status.rayClusterName.empty() ? "" : "Initializing");
}

bool ended_before_it_was_invalid(const ray::RayJobStatus& stored) {
  return stored.jobDeploymentStatus == "ValidationFailed" && stored.endTime;
}

void plan_state(Draft& draft) {
  const auto& state = draft.job().status.jobDeploymentStatus;
  if (state.empty())
    plan_new(draft);
  else if (state == "Initializing")
    plan_initializing(draft);
  else if (state == "Waiting")
    plan_waiting(draft);
  else if (state == "Running")
    plan_running(draft);
  else if (state == "Suspending" || state == "Retrying")
    plan_teardown(draft);
  else if (state == "Suspended")
    plan_suspended(draft);
  else if (state == "ValidationFailed")
    plan_after_invalid(draft);
  // Any other value was written by hand; nobody knows what it means.
}

void plan_status(Draft& draft) {
  const auto& stored = draft.job().status;
  // Ray gives the last 20,000 characters of a failed job's log, others as much as they like.
  draft.status.message = excerpt(draft.status.message, kLongestMessage);
  if (!worth_writing(stored, draft.status)) return;
  const auto& state = draft.status.jobDeploymentStatus;
  if (is_terminal_deployment(state) && state != stored.jobDeploymentStatus &&
      !ended_before_it_was_invalid(stored))
    draft.status.endTime = draft.now();
  draft.plan.status = status_write(draft.job(), draft.status);
}

void plan_invalid(Draft& draft, const Problem& problem) {
  draft.plan.events.push_back(
      warning(problem.reason, "Validate",
              fmt::format("{}: {}", draft.seen.key().to_string(), problem.message)));
  draft.move_to("ValidationFailed");
  draft.status.reason = "ValidationFailed";
  draft.status.message = problem.message;
  plan_status(draft);
}

void plan_valid(Draft& draft) {
  if (is_terminal_deployment(draft.status.jobDeploymentStatus)) {
    plan_cleanup(draft);
    // What is deleted now will be given back when it has gone.
    if (draft.plan.stages.empty()) gang_released(draft);
  } else {
    plan_state(draft);
    if (!ended_before_it_was_invalid(draft.job().status)) count_attempt(draft.status, draft.spec());
  }
  plan_status(draft);
}

// Taken by the API server and by upstream, which then waits for ever for a job that nobody submits.
void look_at_mode(Draft& draft) {
  const auto& mode = draft.spec().submissionMode;
  if (submission_mode(draft.spec()) != Mode::Other ||
      is_terminal_deployment(draft.status.jobDeploymentStatus))
    return take_notice_back(draft, kUnknownMode);
  give_notice(draft, kUnknownMode,
              fmt::format("nobody submits the job: spec.submissionMode is {:?}, which is none of "
                          "K8sJobMode, HTTPMode, InteractiveMode, SidecarMode",
                          mode));
}

// Whether we have begun to look after it. Afterwards no edit makes us look away.
bool is_adopted(const ray::RayJobStatus& status) {
  return !status.jobDeploymentStatus.empty() && status.jobDeploymentStatus != "ValidationFailed";
}

RayJobSeen with_last_valid_spec(const RayJobSeen& seen) {
  auto job = *seen.job;
  job.spec = spec_to_go_on_with(seen);
  auto out = seen;
  out.job = std::make_shared<const ray::RayJob>(std::move(job));
  return out;
}

}  // namespace

kube::Plan plan(const RayJobSeen& seen, const Settings& settings,
                const kube::PlanContext& context) {
  Draft draft{.seen = seen, .settings = settings, .context = context, .status = seen.job->status};
  if (!ray::is_managed_by_us(draft.spec().managedBy)) return {};
  if (draft.job().meta.deleting) {
    plan_deletion(draft);
    return std::move(draft.plan);
  }
  const auto problem = validate(*seen.job, settings);
  if (problem && is_adopted(seen.job->status)) {
    const auto managed = with_last_valid_spec(seen);
    Draft going_on{
        .seen = managed, .settings = settings, .context = context, .status = seen.job->status};
    give_notice(going_on, kInvalidUpdate, problem->message);
    plan_valid(going_on);
    return std::move(going_on.plan);
  }
  if (problem) {
    plan_invalid(draft, *problem);
    return std::move(draft.plan);
  }
  take_notice_back(draft, kInvalidUpdate);
  look_at_mode(draft);
  plan_valid(draft);
  return std::move(draft.plan);
}

}  // namespace manta::controllers::rayjob
