#include "controllers/batchscheduler/coscheduling.h"

#include "controllers/batchscheduler/gang_size.h"
#include "controllers/batchscheduler/gang_writes.h"
#include "ray/builders/scheduler_metadata.h"
#include "ray/labels.h"

namespace manta::controllers::batchscheduler {

GangDecision decide_coscheduling(const ray::RayCluster& cluster, const GangSeen& seen,
                                 const ray::BuildOptions& options) {
  if (!ray::asks_for_gang(cluster.meta) || seen.pod_group) return {};
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
