#include "controllers/rayservice/queueing.h"

#include "controllers/rayservice/conditions.h"
#include "controllers/rayservice/status.h"

#include <fmt/format.h>

namespace manta::controllers::rayservice {
namespace {

constexpr std::string_view kQueueLabel = "kueue.x-k8s.io/queue-name";
constexpr std::string_view kHeldAnnotation = "ray.io/held-by-queue";

// It begins anew; one that has served already has only lost its endpoints.
void let_go(Draft& draft) {
  if (reason_of(draft.status, kReady) != kHeldByQueue) return;
  if (draft.active_name().empty())
    mark_initializing(draft, "RayService is initializing after its queue has let it run.");
  else
    mark(draft, kReady, "False", "ZeroServeEndpoints", "Number of serve endpoints dropped to 0");
}

}  // namespace

bool is_queued(const kube::ObjectMeta& meta) { return !meta.label(kQueueLabel).empty(); }

bool was_held(const ray::RayCluster& cluster) {
  return !cluster.meta.annotation(kHeldAnnotation).empty();
}

kube::Write hold_cluster(const ray::RayCluster& cluster, bool hold) {
  const Json mark = hold ? Json("true") : Json();
  return {
      .kind = kube::WriteKind::Patch,
      .resource = ray::kRayClusters,
      .key = cluster.meta.key,
      .body = {{"metadata",
                {{"uid", cluster.meta.uid}, {"annotations", {{kHeldAnnotation, mark}}}}},
               {"spec", {{"suspend", hold}}}},
      .patch_type = kube::PatchType::Merge,
      .lane = "cluster:" + cluster.meta.key.name,
      .why = hold ? "the RayService is held by its queue" : "rayClusterConfig.suspend is false"};
}

void keep_hold(Json& goal, const ray::RayCluster& cluster) {
  if (was_held(cluster)) ensure(goal, {"metadata", "annotations", kHeldAnnotation}) = "true";
}

bool plan_hold(Draft& draft) {
  if (!is_queued(draft.service().meta) || !ray::is_true(draft.spec().rayClusterConfig.suspend)) {
    let_go(draft);
    return false;
  }
  draft.status.observedGeneration = draft.service().meta.generation;
  for (const auto& cluster : draft.seen.clusters)
    if (!cluster->meta.deleting && !(was_held(*cluster) && ray::is_true(cluster->spec.suspend)))
      draft.write(hold_cluster(*cluster, true));
  draft.status.numServeEndpoints = count_endpoints(draft);
  draft.status.serviceStatus.clear();
  mark(draft, kReady, "False", kHeldByQueue,
       fmt::format("rayClusterConfig.suspend is true: queue {} does not let the RayService run",
                   draft.service().meta.label(kQueueLabel)));
  return true;
}

}  // namespace manta::controllers::rayservice
