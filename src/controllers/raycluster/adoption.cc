#include "controllers/raycluster/adoption.h"

#include "controllers/raycluster/worker_group.h"
#include "ray/labels.h"
#include "ray/names.h"
#include "ray/types.h"

namespace manta::controllers::raycluster {
namespace {

bool is_built_head(const kube::ObjectMeta& pod, std::string_view cluster) {
  return (pod.key.name.starts_with(ray::head_pod_prefix(cluster)) ||
          pod.key.name == ray::head_pod_name(cluster)) &&
         !pod.annotation(ray::kAnnotationVersion).empty() &&
         !pod.annotation(ray::kAnnotationRecreateHash).empty();
}

bool is_built_worker(const kube::ObjectMeta& pod, std::string_view cluster) {
  const auto group = pod.label(ray::kLabelGroup);
  return !group.empty() && pod.key.name.starts_with(ray::worker_pod_prefix(cluster, group));
}

kube::Write adopt(const kube::PodView& pod, const kube::ObjectMeta& cluster) {
  JsonArray owners;
  for (const auto& owner : pod.meta.owners) owners.push_back(kube::to_json(owner));
  owners.push_back(kube::to_json({.apiVersion = ray::kRayClusters.api_version(),
                                  .kind = std::string(ray::kKindRayCluster),
                                  .name = cluster.key.name,
                                  .uid = cluster.uid,
                                  .controller = true,
                                  .blockOwnerDeletion = true}));
  return {.kind = kube::WriteKind::Patch,
          .resource = kube::kPods,
          .key = pod.meta.key,
          .body = {{"metadata", {{"uid", pod.meta.uid}, {"ownerReferences", std::move(owners)}}}},
          .lane = "adopt",
          .tolerate = {ErrorCode::NotFound},  // a surplus one may be on its way out
          .why = "a deleted RayCluster of this name has left the Pod behind"};
}

}  // namespace

bool is_left_behind(const kube::ObjectMeta& pod, const kube::ObjectMeta& cluster) {
  if (pod.controller_owner() || pod.deleting || pod.created > cluster.created) return false;
  const auto type = pod.label(ray::kLabelNodeType);
  if (type == ray::kNodeTypeHead) return is_built_head(pod, cluster.key.name);
  return type == ray::kNodeTypeWorker && is_built_worker(pod, cluster.key.name);
}

kube::Stage adoption_writes(const RayClusterSeen& seen) {
  kube::Stage stage;
  for (const auto& pod : seen.pods)
    if (!pod->meta.controller_owner() && !is_deleting(*pod) &&
        std::ssize(stage) < kPodsAPlan)  // the next plan goes on
      stage.push_back(adopt(*pod, seen.cluster->meta));
  return stage;
}

}  // namespace manta::controllers::raycluster
