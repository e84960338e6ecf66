#include "controllers/rayservice/plan.h"

#include "controllers/rayservice/clusters.h"
#include "controllers/rayservice/conditions.h"
#include "controllers/rayservice/queueing.h"
#include "controllers/rayservice/serving.h"
#include "controllers/rayservice/status.h"
#include "controllers/rayservice/suspension.h"
#include "controllers/rayservice/validation.h"
#include "controllers/writes.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::rayservice {
namespace {

kube::Write finalizer_write(const Draft& draft, bool present) {
  return set_finalizer(ray::kRayServices, draft.service().meta, ray::kFinalizerRayService, present);
}

// The clusters go first, so that their deletion is told.
void plan_deletion(Draft& draft) {
  if (!draft.service().meta.has_finalizer(ray::kFinalizerRayService)) return;
  if (!delete_dangling(draft)) draft.write(finalizer_write(draft, false));
}

// Nothing is turned and nothing made while the spec is invalid.
std::string what_stays(Draft& draft) {
  const auto serves = [](const auto& slice) { return !slice->ready_targets.empty(); };
  if (!draft.seen.active.exists()) {
    draft.status.serviceStatus.clear();
    return fmt::format("RayCluster {} is gone, and none takes its place until the spec is valid",
                       draft.active_name());
  }
  // Whichever way it was upgraded: the invalid spec does not tell.
  if (std::ranges::any_of(draft.seen.slices, serves)) return "The last valid spec still serves";
  return fmt::format("RayCluster {} of the last valid spec stays as it is", draft.active_name());
}

void refuse(Draft& draft, const Problem& problem) {
  draft.plan.events.push_back(
      warning(problem.reason, "Validate",
              fmt::format("{}: {}", draft.seen.key().to_string(), problem.message)));
  // The end stays the end: only a valid spec can be a new beginning.
  if (reason_of(draft.status, kReady) == kInitializingTimeout) return;
  auto message = problem.message;
  // Of one that never began nothing was observed.
  if (!draft.active_name().empty() || !draft.pending_name().empty())
    draft.status.observedGeneration = draft.service().meta.generation;
  if (!draft.active_name().empty()) message += ". " + what_stays(draft);  // SEEN-32
  mark(draft, kReady, "False", kValidationFailed, std::move(message));
}

// Terminal: nothing but the clean-up goes on.
bool has_timed_out(Draft& draft) {
  if (reason_of(draft.status, kReady) != kInitializingTimeout) return false;
  const bool changed = draft.service().meta.generation != draft.status.observedGeneration;
  if (!draft.settings.service_gates.revive || !changed) return true;
  mark_initializing(draft, "RayService is initializing after its spec changed.");  // RS-17
  return false;
}

}  // namespace

kube::Plan plan(const RayServiceSeen& seen, const Settings& settings,
                const kube::PlanContext& context) {
  Draft draft{.seen = seen,
              .settings = settings,
              .context = context,
              .incremental = is_incremental(seen.service->spec, settings),
              .status = seen.service->status};
  if (!ray::is_managed_by_us(draft.spec().managedBy)) return {};
  if (draft.service().meta.deleting) {
    plan_deletion(draft);
    return std::move(draft.plan);
  }
  if (!draft.service().meta.has_finalizer(ray::kFinalizerRayService)) {
    draft.write(finalizer_write(draft, true));
    return std::move(draft.plan);
  }
  if (!is_marked(draft.status, kSuspending)) delete_dangling(draft);  // else all are deleted
  if (const auto problem = validate(draft.service(), settings))
    refuse(draft, *problem);
  else if (!plan_suspension(draft) && !plan_hold(draft) && !has_timed_out(draft))
    plan_serving(draft);
  plan_status(draft);
  return std::move(draft.plan);
}

}  // namespace manta::controllers::rayservice
