#include "operator/ray_views.h"

#include "controllers/raycluster/notes.h"
#include "operator/replicas_owner.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace manta::operator_ {

namespace {

// An old CRD may have pruned the field; 0 hosts must not read as 0 Pods. RC-15
void count_hosts(ray::RayClusterSpec& cluster) {
  for (auto& group : cluster.workerGroupSpecs) group.numOfHosts = std::max(group.numOfHosts, 1);
}

}  // namespace

Result<ray::RayCluster> project_cluster(const Json& object) {
  auto cluster = ray::parse_ray_cluster(object);
  if (cluster) count_hosts(cluster->spec);
  return cluster;
}

Result<ray::RayJob> project_job(const Json& object) {
  auto job = ray::parse_ray_job(object);
  if (job && job->spec.rayClusterSpec) count_hosts(*job->spec.rayClusterSpec);
  return job;
}

Result<ray::RayCluster> project_cluster_with_owner(const Json& object) {
  auto cluster = project_cluster(object);
  if (cluster && ray::autoscaling_enabled(cluster->spec))
    cluster->replicas_owner = who_applies_replicas(object);
  return cluster;
}

Result<kube::ServiceView> project_whole_service(const Json& object) {
  auto service = kube::project_service(object);
  if (!service || service->meta.label(ray::kLabelNodeType) != ray::kNodeTypeHead) return service;
  if (auto whole = kube::project_spec(object))
    service->whole = std::make_shared<const kube::SpecView>(std::move(*whole));
  return service;
}

Result<kube::PodView> project_ray_pod(const Json& object) {
  auto pod = kube::project_pod(object);
  if (!pod) return pod;
  const auto unread = [](const auto& entry) {
    return !entry.first.starts_with("ray.io/") || entry.first == ray::kLabelIsRayNode ||
           entry.first == ray::kLabelIdentifier;
  };
  std::erase_if(pod->meta.labels, unread);
  std::erase_if(pod->meta.annotations, unread);
  return pod;
}

Result<kube::PodView> project_gated_pod(const Json& object) {
  auto pod = project_ray_pod(object);
  if (!pod || pod->trouble) return pod;
  std::vector<std::string_view> gates;
  for (const auto& gate : array_at(object, {"spec", "schedulingGates"}))
    gates.push_back(string_at(gate, {"name"}));
  if (!gates.empty())
    pod->trouble = std::make_shared<const std::string>(
        fmt::format("{}: {}", controllers::raycluster::kSchedulingGated, fmt::join(gates, ", ")));
  return pod;
}

}  // namespace manta::operator_
