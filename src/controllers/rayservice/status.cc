#include "controllers/rayservice/status.h"

#include "controllers/raycluster/status.h"
#include "controllers/rayservice/services.h"
#include "controllers/writes.h"
#include "ray/names.h"

#include <set>

namespace manta::controllers::rayservice {
namespace {

bool has_share(const ray::ServeClusterStatus& status) {
  return status.targetCapacity || status.trafficRoutedPercent || status.lastTrafficMigratedTime;
}

void tell_cluster(const Draft& draft, const ClusterSeen& cluster, const ServeSeen& serve,
                  ray::ServeClusterStatus& status) {
  if (draft.blocked.contains(status.rayClusterName)) return;
  status.rayClusterStatus = cluster.cluster ? cluster.cluster->status : ray::RayClusterStatus{};
  status.applicationStatuses = serve.applications;
}

// Whether what was copied from the cluster is worth a write by itself. Upstream's comparison takes
// a share of capacity or traffic for changed whenever there is one, so in steps its copies are
// fresh, and only then (spec/05 §9.6); elsewhere a gate of ours asks for it (SEEN-33).
bool is_kept_fresh(const ray::RayServiceStatus& status, bool gate) {
  return gate || has_share(status.activeServiceStatus) || has_share(status.pendingServiceStatus);
}

bool differs(const ray::ServeClusterStatus& a, const ray::ServeClusterStatus& b, bool fresh) {
  return (fresh && raycluster::differs(a.rayClusterStatus, b.rayClusterStatus)) ||
         a.rayClusterName != b.rayClusterName || a.applicationStatuses != b.applicationStatuses ||
         a.targetCapacity != b.targetCapacity || a.trafficRoutedPercent != b.trafficRoutedPercent ||
         a.lastTrafficMigratedTime != b.lastTrafficMigratedTime;
}

bool worth_writing(const ray::RayServiceStatus& before, const ray::RayServiceStatus& after,
                   bool gate) {
  const bool fresh = is_kept_fresh(after, gate);
  return before.serviceStatus != after.serviceStatus ||
         before.numServeEndpoints != after.numServeEndpoints ||
         before.conditions != after.conditions ||
         (fresh && before.observedGeneration != after.observedGeneration) ||
         differs(before.activeServiceStatus, after.activeServiceStatus, fresh) ||
         differs(before.pendingServiceStatus, after.pendingServiceStatus, fresh);
}

}  // namespace

void tell_clusters(Draft& draft, const ServeSeen& active, const ServeSeen& pending) {
  tell_cluster(draft, draft.seen.active, active, draft.status.activeServiceStatus);
  tell_cluster(draft, draft.seen.pending, pending, draft.status.pendingServiceStatus);
}

std::int32_t count_endpoints(const Draft& draft) {
  const auto services = entrances(draft);
  std::set<std::string_view> targets;
  for (const auto& slice : draft.seen.slices)
    if (services.contains(slice->meta.label(kube::kLabelServiceName)))
      targets.insert(slice->ready_targets.begin(), slice->ready_targets.end());
  return static_cast<std::int32_t>(targets.size());
}

void plan_status(Draft& draft) {
  const bool gate = draft.settings.service_gates.fresh_status;
  if (!worth_writing(draft.service().status, draft.status, gate)) return;
  draft.status.lastUpdateTime = draft.now();
  draft.plan.status =
      update_status(ray::kRayServices, draft.service().meta,
                    ray::part_to_json(draft.service().status), ray::part_to_json(draft.status));
}

}  // namespace manta::controllers::rayservice
