#include "controllers/batchscheduler/coscheduling.h"

#include "controllers/batchscheduler/gang_size.h"
#include "controllers/batchscheduler/gang_writes.h"
#include "ray/builders/scheduler_metadata.h"
#include "ray/labels.h"

#include <algorithm>

namespace manta::controllers::batchscheduler {
namespace {

// Upstream, too, makes a PodGroup its cluster's without a controller.
Belongs whose_gang(kube::ObjectMeta live, const kube::ObjectMeta& cluster) {
  auto& owners = live.owners;
  if (std::ranges::find(owners, cluster.uid, &kube::OwnerRef::uid) != owners.end())
    return Belongs::Us;
  if (!owners.empty() && !live.controller_owner()) owners.front().controller = true;
  return whose(live, cluster, ray::kKindRayCluster);
}

// It never changes once it is there. SEEN-25
GangDecision beside(const kube::ObjectMeta& live, const kube::ObjectMeta& cluster) {
  GangDecision out;
  switch (whose_gang(live, cluster)) {
    case Belongs::Others:
      block(out, collision(kCoschedulingPodGroups, live, ray::kKindRayCluster));
      break;
    case Belongs::Predecessor:
      out.blocked = goes_with_owner(kCoschedulingPodGroups, live);
      break;
    case Belongs::Us:
    case Belongs::Nobody:  // made beforehand by hand, for this one
      break;
  }
  return out;
}

}  // namespace

GangDecision decide_coscheduling(const ray::RayCluster& cluster, const GangSeen& seen,
                                 const ray::BuildOptions& options) {
  if (!ray::asks_for_gang(cluster.meta)) return {};
  if (seen.pod_group) return beside(seen.pod_group->meta, cluster.meta);
  const auto size = whole_gang(cluster, options);
  const auto& meta = cluster.meta;
  // Not a controller: that is how upstream writes it, and it is collected all the same.
  Json owner{{"apiVersion", ray::kGroupVersion},
             {"kind", ray::kKindRayCluster},
             {"name", meta.key.name},
             {"uid", meta.uid}};
  Json body{
      {"apiVersion", kCoschedulingPodGroups.api_version()},
      {"kind", kCoschedulingPodGroups.kind},
      {"metadata",
       {{"name", meta.key.name},
        {"namespace", meta.key.namespace_},
        {"ownerReferences", JsonArray{std::move(owner)}}}},
      {"spec", {{"minMember", size.members}, {"minResources", ray::json_of(size.resources)}}}};
  GangDecision out;
  out.stages.push_back({create_gang_object(kCoschedulingPodGroups, std::move(body))});
  return out;
}

}  // namespace manta::controllers::batchscheduler
