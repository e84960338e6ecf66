// New, Initializing, Waiting: until the Ray job may run.
#include "controllers/naming.h"
#include "controllers/rayjob/children.h"
#include "controllers/rayjob/dashboard.h"
#include "controllers/rayjob/deadlines.h"
#include "controllers/rayjob/gang.h"
#include "controllers/rayjob/states.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

std::string generated(const Draft& draft, std::string_view what) {
  return fmt::format("{}-{}", draft.seen.key().name,
                     derived_suffix(draft.job().meta.uid, what, draft.now()));
}

}  // namespace

void plan_new(Draft& draft) {
  if (!draft.job().meta.has_finalizer(ray::kFinalizerRayJob)) {
    draft.plan.stage().push_back(finalizer_write(draft.job(), true));
    return;  // names come after it, so that a RayJob with names always has its finalizer
  }
  auto& status = draft.status;
  if (status.jobId.empty() && submission_mode(draft.spec()) != Mode::Interactive)
    status.jobId = draft.spec().jobId.empty() ? generated(draft, "job") : draft.spec().jobId;
  if (status.rayClusterName.empty()) {
    status.rayClusterName = selected_cluster(draft.spec());
    if (status.rayClusterName.empty()) status.rayClusterName = generated(draft, "cluster");
  }
  status.jobStatus.clear();
  status.startTime = draft.now();
  draft.move_to("Initializing");
}

void plan_initializing(Draft& draft) {
  auto& status = draft.status;
  if (draft.spec().suspend) return draft.move_to("Suspending");
  if (active_deadline_passed(draft) || pre_running_deadline_passed(draft)) return;
  if (!scheduler_takes(draft) || !gang_ready(draft) || !ensure_cluster(draft)) return;
  if (status.dashboardURL.empty()) {
    if (draft.seen.cluster->status.state != "ready") {
      status.rayClusterStatus = draft.seen.cluster->status;
      return;
    }
    auto url = dashboard_address(draft.seen, draft.settings);
    if (!url) return;  // the Service's next change brings us back
    status.dashboardURL = *url;
  }
  switch (submission_mode(draft.spec())) {
    case Mode::Interactive:
      return draft.move_to("Waiting");
    case Mode::K8sJob:
      if (ensure_submitter(draft)) draft.move_to("Running");
      return;
    case Mode::Http:
    case Mode::Sidecar:
    case Mode::Other:
      return draft.move_to("Running");
  }
}

void plan_waiting(Draft& draft) {
  if (pre_running_deadline_passed(draft)) return;
  if (draft.spec().jobId.empty()) return;  // the user has not submitted yet
  draft.status.jobId = draft.spec().jobId;
  draft.move_to("Running");
}

void plan_suspended(Draft& draft) {
  if (draft.spec().suspend) return;
  draft.status.jobStatus.clear();
  draft.move_to("");
}

void plan_teardown(Draft& draft) {
  const bool no_cluster = cluster_gone(draft);
  const bool no_submitter = submitter_gone(draft);
  if (!no_cluster || !no_submitter) return;
  if (!gang_released(draft)) return;
  auto& status = draft.status;
  const bool suspending = status.jobDeploymentStatus == "Suspending";
  // Times and counters stay: they tell of the attempts so far.
  status = {.startTime = status.startTime,
            .endTime = status.endTime,
            .succeeded = status.succeeded,
            .failed = status.failed,
            .observedGeneration = status.observedGeneration};
  draft.move_to(suspending ? "Suspended" : "");
}

}  // namespace manta::controllers::rayjob
