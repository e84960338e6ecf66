#include "controllers/batchscheduler/kubernetes_was.h"

#include "controllers/batchscheduler/gang_writes.h"
#include "controllers/writes.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/resources.h"
#include "ray/builders/scheduler_metadata.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <optional>

namespace manta::controllers::batchscheduler {
namespace {

constexpr std::string_view kTemplate = "cluster";
constexpr std::string_view kProtection = "scheduling.k8s.io/podgroup-protection";

Json gang_policy(std::int64_t members) { return {{"gang", {{"minCount", members}}}}; }

/// The gang's size as written in a scheduling policy; nothing when it is no gang.
std::optional<std::int64_t> gang_of(const Json& part) {
  const Json* count = find(part, {"schedulingPolicy", "gang", "minCount"});
  if (!count || !count->is_int64()) return std::nullopt;
  return count->as_int64();
}

Json build(const kube::Resource& resource, const ray::RayCluster& cluster, std::string name,
           Json spec) {
  return {{"apiVersion", resource.api_version()},
          {"kind", resource.kind},
          {"metadata",
           {{"name", std::move(name)},
            {"namespace", cluster.meta.key.namespace_},
            {"labels", {{ray::kLabelCluster, cluster.meta.key.name}}},
            {"ownerReferences", JsonArray{ray::owner_json(cluster.meta, ray::kKindRayCluster)}}}},
          {"spec", std::move(spec)}};
}

Json build_workload(const ray::RayCluster& cluster, std::int64_t members) {
  const auto& name = cluster.meta.key.name;
  Json group{{"name", kTemplate}, {"schedulingPolicy", gang_policy(members)}};
  return build(
      kWorkloads, cluster, name,
      {{"controllerRef", {{"apiGroup", "ray.io"}, {"kind", ray::kKindRayCluster}, {"name", name}}},
       {"podGroupTemplates", JsonArray{std::move(group)}}});
}

Json build_pod_group(const ray::RayCluster& cluster, std::int64_t members) {
  const auto& name = cluster.meta.key.name;
  return build(
      kPodGroups, cluster,
      pod_group_name(cluster.meta, ray::kKindRayCluster, ray::BatchScheduler::KubernetesWas),
      {{"podGroupTemplateRef",
        {{"workload", {{"workloadName", name}, {"podGroupTemplateName", kTemplate}}}}},
       {"schedulingPolicy", gang_policy(members)}});
}

bool is_fresh_workload(const Json& spec, std::int64_t members) {
  const auto& templates = array_at(spec, {"podGroupTemplates"});
  return templates.size() == 1 && string_at(templates[0], {"name"}) == kTemplate &&
         gang_of(templates[0]) == members;
}

bool is_ours(const kube::SpecView* live, const ray::RayCluster& cluster) {
  return live && whose(live->meta, cluster.meta, ray::kKindRayCluster) == Belongs::Us;
}

void block(GangDecision& out, const kube::Resource& resource, const kube::ObjectMeta& live,
           std::string_view why) {
  out.blocked = fmt::format("{} {} {}", resource.kind, live.key.to_string(), why);
}

// Somebody else's, which has to be told, or one that goes by itself.
void block_by_foreign(GangDecision& out, const kube::Resource& resource,
                      const kube::ObjectMeta& live, const ray::RayCluster& cluster) {
  block(out, resource, live, "already exists and is not owned by this RayCluster");
  if (whose(live, cluster.meta, ray::kKindRayCluster) != Belongs::Predecessor && !live.deleting)
    out.events.push_back(collision(resource, live, ray::kKindRayCluster));
}

// Kubernetes protects a PodGroup that Pods still use; ours are to go on with its successor.
void delete_pod_group(GangDecision& out, const kube::ObjectMeta& live, std::string_view why) {
  if (live.has_finalizer(kProtection)) {
    auto release = set_finalizer(kPodGroups, live, kProtection, false);
    release.lane = kGangLane;
    release.why = why;
    out.stages.push_back({std::move(release)});
  }
  if (live.deleting) return;
  out.stages.push_back({delete_gang_object(kPodGroups, live, why)});
}

void delete_workload(GangDecision& out, const kube::ObjectMeta& live, std::string_view why) {
  out.stages.push_back({delete_gang_object(kWorkloads, live, why)});
}

void sync_workload(GangDecision& out, const ray::RayCluster& cluster, std::int64_t members,
                   const GangSeen& seen) {
  if (!seen.workload) {
    out.stages.push_back({create_gang_object(kWorkloads, build_workload(cluster, members))});
    return;
  }
  const auto& live = *seen.workload;
  if (!is_ours(&live, cluster)) return block_by_foreign(out, kWorkloads, live.meta, cluster);
  if (live.meta.deleting) return block(out, kWorkloads, live.meta, "is being deleted");
  if (is_fresh_workload(live.spec, members)) return;
  block(out, kWorkloads, live.meta, "is being replaced");
  constexpr std::string_view kWhy = "the gang's size has changed";
  if (is_ours(seen.pod_group.get(), cluster))
    delete_pod_group(out, seen.pod_group->meta, kWhy);
  else
    delete_workload(out, live.meta, kWhy);
}

void sync_pod_group(GangDecision& out, const ray::RayCluster& cluster, std::int64_t members,
                    const GangSeen& seen) {
  if (!seen.pod_group) {
    out.stages.push_back({create_gang_object(kPodGroups, build_pod_group(cluster, members))});
    return;
  }
  const auto& live = *seen.pod_group;
  if (!is_ours(&live, cluster)) return block_by_foreign(out, kPodGroups, live.meta, cluster);
  if (!live.meta.deleting && gang_of(live.spec) == members) return;
  block(out, kPodGroups, live.meta, live.meta.deleting ? "is being deleted" : "is being replaced");
  delete_pod_group(out, live.meta, "the gang's size has changed");
}

// The cluster asks for no gang (any more): what was made for one goes, the PodGroup first.
GangDecision remove_gang(const ray::RayCluster& cluster, const GangSeen& seen) {
  GangDecision out;
  constexpr std::string_view kWhy = "the RayCluster asks for no gang";
  if (is_ours(seen.pod_group.get(), cluster)) {
    block(out, kPodGroups, seen.pod_group->meta, "is being deleted");
    delete_pod_group(out, seen.pod_group->meta, kWhy);
    return out;
  }
  if (!is_ours(seen.workload.get(), cluster)) return out;
  if (seen.workload->meta.deleting)
    block(out, kWorkloads, seen.workload->meta, "is being deleted");
  else
    delete_workload(out, seen.workload->meta, kWhy);
  return out;
}

}  // namespace

GangDecision decide_kubernetes_was(const ray::RayCluster& cluster, const GangSeen& seen) {
  if (!ray::wants_kubernetes_gang(cluster)) return remove_gang(cluster, seen);
  const auto members = 1 + std::int64_t{ray::desired_worker_pods(cluster.spec)};
  GangDecision out;
  sync_workload(out, cluster, members, seen);
  if (out.blocked.empty()) sync_pod_group(out, cluster, members, seen);
  return out;
}

}  // namespace manta::controllers::batchscheduler
