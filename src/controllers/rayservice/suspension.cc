#include "controllers/rayservice/suspension.h"

#include "controllers/rayservice/clusters.h"
#include "controllers/rayservice/conditions.h"
#include "controllers/rayservice/gateway_api.h"
#include "controllers/rayservice/services.h"
#include "controllers/writes.h"

#include <fmt/format.h>

namespace manta::controllers::rayservice {
namespace {

constexpr const char* kNoUpgrade = "No upgrade in progress.";
constexpr const char* kNoRollback = "No rollback in progress.";

void begin(Draft& draft) {
  auto& status = draft.status;
  status.observedGeneration = draft.service().meta.generation;
  status.activeServiceStatus = {};
  status.pendingServiceStatus = {};
  status.numServeEndpoints = 0;
  status.serviceStatus.clear();
  mark(draft, kSuspending, "True", "SuspendRequested",
       "Spec.Suspend is true; will delete all Kubernetes resources owned by this RayService.");
  mark(draft, kReady, "False", "SuspendInProgress", "RayService is suspending.");
  mark(draft, kUpgradeInProgress, "False", "SuspendInProgress", kNoUpgrade);
  mark(draft, kRollbackInProgress, "False", "SuspendInProgress", kNoRollback);
}

void finish(Draft& draft) {
  constexpr const char* kDone = "SuspendComplete";
  const std::string gone = "All owned resources have been deleted.";
  mark(draft, kSuspending, "False", kDone, gone);
  mark(draft, kSuspended, "True", kDone, gone);
  mark(draft, kReady, "False", kDone, "RayService is suspended.");
  mark(draft, kUpgradeInProgress, "False", kDone, kNoUpgrade);
  mark(draft, kRollbackInProgress, "False", kDone, kNoRollback);
}

void resume(Draft& draft) {
  draft.status.observedGeneration = draft.service().meta.generation;
  mark(draft, kSuspended, "False", "RayServiceResumed",
       "Spec.Suspend is false; RayService has resumed.");
  mark_initializing(draft, "RayService is initializing after resuming from suspend.");
}

void delete_object(Draft& draft, const kube::Resource& resource, const kube::ObjectMeta& meta) {
  if (meta.deleting) return;
  auto write = remove(resource, meta, resource.plural + ":" + meta.key.name);
  write.propagation = kube::Propagation::Background;
  const auto key = meta.key.to_string();
  write.done_event = normal("Deleted" + resource.kind, "Delete",
                            fmt::format("Deleted the {} {} during suspend", resource.kind, key));
  write.failed_event = warning(
      "FailedToDelete" + resource.kind, "Delete",
      fmt::format("Failed to delete the {} {} during suspend: {{error}}", resource.kind, key));
  write.why = "the RayService is suspended";
  draft.write(std::move(write));
}

// True when nothing is left.
bool delete_all(Draft& draft) {
  bool left = false;
  for (const auto& cluster : draft.seen.clusters) {
    left = true;
    if (cluster->meta.deleting) continue;
    auto write = deletion_of(*cluster, " during suspend");
    write.why = "the RayService is suspended";
    draft.write(std::move(write));
  }
  for (const auto& service : draft.seen.services) {
    left = true;
    delete_object(draft, kube::kServices, service->meta);
  }
  const auto ours = [&](const std::shared_ptr<const kube::SpecView>& object) {
    return object && is_ours(draft, object->meta);
  };
  if (ours(draft.seen.gateway)) {
    left = true;
    delete_object(draft, kGateways, draft.seen.gateway->meta);
  }
  if (ours(draft.seen.route)) {
    left = true;
    delete_object(draft, kHttpRoutes, draft.seen.route->meta);
  }
  return !left;
}

}  // namespace

bool plan_suspension(Draft& draft) {
  if (is_marked(draft.status, kSuspending)) {
    if (delete_all(draft))
      finish(draft);
    else
      mark(draft, kSuspending, "True", "SuspendInProgress",
           "Waiting for all Kubernetes resources owned by this RayService to be deleted.");
    return true;
  }
  if (is_marked(draft.status, kSuspended)) {
    if (draft.spec().suspend) {
      if (reason_of(draft.status, kReady) == kValidationFailed) finish(draft);
      return true;
    }
    resume(draft);
    return false;
  }
  if (!draft.spec().suspend) return false;
  begin(draft);
  return true;
}

}  // namespace manta::controllers::rayservice
