// New, Initializing, Waiting: until the Ray job may run.
#include "controllers/naming.h"
#include "controllers/raycluster/conditions.h"
#include "controllers/rayjob/children.h"
#include "controllers/rayjob/dashboard.h"
#include "controllers/rayjob/deadlines.h"
#include "controllers/rayjob/gang.h"
#include "controllers/rayjob/notices.h"
#include "controllers/rayjob/obstacles.h"
#include "controllers/rayjob/states.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

std::string generated(const Draft& draft, std::string_view what) {
  return fmt::format("{}-{}", draft.seen.key().name,
                     derived_suffix(draft.job().meta.uid, what, draft.now()));
}

// Of one attempt. With a cluster that outlives attempts, Ray must not take one for another. RJ-41
std::string job_id(const Draft& draft) {
  if (draft.spec().jobId.empty()) return generated(draft, "job");
  const auto failed = draft.status.failed.value_or(0);
  if (!reuses_cluster(draft) || failed == 0) return draft.spec().jobId;
  return fmt::format("{}-{}", draft.spec().jobId, failed + 1);
}

// The cluster was up, its head has gone, and it may not make another. The cluster's own word is
// asked, too: of the Pods we may know less than whoever wrote that status.
bool head_lost_for_good(const Draft& draft) {
  const auto& cluster = *draft.seen.cluster;
  const auto& conditions = cluster.status.conditions;
  if (!draft.seen.heads.empty()) return false;
  if (cluster.meta.annotation(ray::kAnnotationDisableHeadRestart) != "true") return false;
  if (!ray::condition_is_true(conditions, raycluster::kProvisioned)) return false;
  const bool sleeps = ray::is_true(cluster.spec.suspend) ||
                      raycluster::suspend_state(conditions) != raycluster::SuspendState::None;
  const auto* head = ray::find_condition(conditions, raycluster::kHeadPodReady);
  return !sleeps && head && head->reason == "HeadPodNotFound";
}

// How the attempt gets on as long as it is Initializing.
void bring_up(Draft& draft) {
  auto& status = draft.status;
  if (!scheduler_takes(draft) || !gang_ready(draft) || !ensure_cluster(draft)) return;
  if (status.dashboardURL.empty()) {
    if (draft.seen.cluster->status.state != "ready") {
      if (head_lost_for_good(draft)) return draft.fail("AppFailed", "Ray head pod not found.");
      status.rayClusterStatus = draft.seen.cluster->status;
      return;
    }
    auto url = dashboard_address(draft.seen, draft.settings);
    if (!url) return;  // the Service's next change brings us back
    status.dashboardURL = *url;
  }
  switch (submission_mode(draft.spec())) {
    case Mode::Interactive:
      if (draft.settings.job_gates.waiting_window)
        give_notice(draft, kWaitingForUser, "submit a job to Ray, then set spec.jobId");
      return draft.move_to("Waiting");
    case Mode::K8sJob:
      if (ensure_submitter(draft)) return draft.move_to("Running");
      status.dashboardURL = draft.job().status.dashboardURL;  // told with the move, as upstream
      return;
    case Mode::Http:
    case Mode::Sidecar:
    case Mode::Other:
      return draft.move_to("Running");
  }
}

}  // namespace

void plan_new(Draft& draft) {
  if (!draft.job().meta.has_finalizer(ray::kFinalizerRayJob)) {
    draft.plan.stage().push_back(finalizer_write(draft.job(), true));
    return;  // names come after it, so that a RayJob with names always has its finalizer
  }
  auto& status = draft.status;
  if (status.jobId.empty() && submission_mode(draft.spec()) != Mode::Interactive)
    status.jobId = job_id(draft);
  if (status.rayClusterName.empty()) {
    status.rayClusterName = selected_cluster(draft.spec());
    if (status.rayClusterName.empty()) status.rayClusterName = generated(draft, "cluster");
  }
  status.jobStatus.clear();
  const bool counts_on = draft.settings.job_gates.total_deadline && status.failed.value_or(0) > 0;
  if (!counts_on || !status.startTime) status.startTime = draft.now();
  draft.move_to("Initializing");
}

void plan_initializing(Draft& draft) {
  if (draft.spec().suspend) return draft.move_to("Suspending");
  if (active_deadline_passed(draft) || pre_running_deadline_passed(draft)) return;
  if (head_init_failed(draft)) return;
  draft.status.message.clear();
  bring_up(draft);
  note_name_conflict(draft);
  if (draft.status.jobDeploymentStatus == "Initializing" && draft.status.message.empty())
    draft.status.message = find_obstacle(draft);
}

void plan_waiting(Draft& draft) {
  if (waiting_deadline_passed(draft)) return;
  if (draft.spec().jobId.empty()) return;  // the user has not submitted yet
  draft.status.jobId = draft.spec().jobId;
  take_notice_back(draft, kWaitingForUser);
  draft.move_to("Running");
}

void plan_suspended(Draft& draft) {
  if (draft.spec().suspend) return;
  draft.status.jobStatus.clear();
  draft.move_to("");
}

void plan_teardown(Draft& draft) {
  auto& status = draft.status;
  const bool suspending = status.jobDeploymentStatus == "Suspending";
  const bool keeps_cluster = !suspending && reuses_cluster(draft) && has_ready_head(draft.seen);
  const bool stopped = !suspending || selected_job_stopped(draft);
  const bool no_cluster = keeps_cluster || cluster_gone(draft);
  const bool no_submitter = submitter_gone(draft);
  if (!stopped || !no_cluster || !no_submitter) return;
  if (!gang_released(draft)) return;
  // Times and counters stay: they tell of the attempts so far.
  ray::RayJobStatus fresh{.startTime = status.startTime,
                          .endTime = status.endTime,
                          .succeeded = status.succeeded,
                          .failed = status.failed,
                          .observedGeneration = status.observedGeneration};
  if (keeps_cluster) fresh.rayClusterName = status.rayClusterName;
  if (const auto* invalid = ray::find_condition(status.conditions, kInvalidUpdate))
    fresh.conditions = {*invalid};
  status = std::move(fresh);
  draft.move_to(suspending ? "Suspended" : "");
}

}  // namespace manta::controllers::rayjob
