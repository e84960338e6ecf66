#include "controllers/rayservice/clusters.h"

#include "controllers/rayservice/conditions.h"
#include "controllers/writes.h"
#include "ray/builders/children.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>

namespace manta::controllers::rayservice {
namespace {

constexpr std::chrono::seconds kDeletionDelay{60};
constexpr std::string_view kKueueQueue = "kueue.x-k8s.io/queue-name";

bool has_active(const Draft& draft) { return !draft.active_name().empty(); }

Json goal_cluster(const Draft& draft, std::string_view name) {
  return ray::build_cluster_for_service(draft.service(), name, has_active(draft),
                                        draft.settings.build);
}

// What scaled a group by hand or by load keeps its word. RS-07
void keep_replicas(Json& goal, const ray::RayCluster& cluster) {
  auto* groups = goal.as_object()["spec"].as_object().if_contains("workerGroupSpecs");
  if (!groups || !groups->is_array()) return;
  for (auto& group : groups->get_array()) {
    const auto live =
        std::ranges::find(cluster.spec.workerGroupSpecs, string_at(group, {"groupName"}),
                          &ray::WorkerGroupSpec::groupName);
    if (live == cluster.spec.workerGroupSpecs.end()) continue;
    if (live->replicas) group.as_object()["replicas"] = *live->replicas;
  }
}

kube::Write annotate(const ray::RayCluster& cluster, std::string_view key, std::string value,
                     std::string_view why) {
  return {.kind = kube::WriteKind::Patch,
          .resource = ray::kRayClusters,
          .key = cluster.meta.key,
          .body = {{"metadata",
                    {{"uid", cluster.meta.uid}, {"annotations", {{key, std::move(value)}}}}}},
          .patch_type = kube::PatchType::Merge,
          .lane = "cluster:" + cluster.meta.key.name,
          .why = std::string(why)};
}

void set_update_events(kube::Write& write, std::string_view role) {
  const auto key = write.key.to_string();
  write.done_event =
      normal("UpdatedRayCluster", "Update", fmt::format("Updated the {} RayCluster {}", role, key));
  write.failed_event =
      warning("FailedToUpdateRayCluster", "Update",
              fmt::format("Failed to update the {} RayCluster {}: {{error}}", role, key));
}

// The earliest creation of a cluster that is younger than this instant, if there is one.
std::optional<Time> next_creation(const Draft& draft, Time after) {
  std::optional<Time> next;
  for (const auto& cluster : draft.seen.clusters)
    if (const auto made = cluster->meta.created; made > after && (!next || made < *next))
      next = made;
  return next;
}

// Since when nobody needs a cluster, told by times that outlive the operator's process (RS-09): a
// pending cluster is dropped when the next one is made, an active one when UpgradeInProgress ends.
// Where an upgrade has begun since, and has overwritten that time, its beginning is taken.
Time dangling_since(const Draft& draft, const ray::RayCluster& cluster) {
  const auto last_write = draft.service().status.lastUpdateTime.value_or(cluster.meta.created);
  const auto made = cluster.meta.created;
  if (draft.active_name().empty() && draft.pending_name().empty()) return last_write;
  if (draft.pending_name().empty()) {
    const auto* upgrade = ray::find_condition(draft.status.conditions, kUpgradeInProgress);
    const auto ended = upgrade ? upgrade->lastTransitionTime.value_or(last_write) : last_write;
    return std::max(ended, next_creation(draft, made).value_or(ended));
  }
  const auto& active = draft.seen.active.cluster;
  const bool was_active = active && made < active->meta.created;
  return next_creation(draft, was_active ? active->meta.created : made).value_or(last_write);
}

// Made after the cluster that serves, it can only have waited its turn. RS-10
bool never_served(const Draft& draft, const ray::RayCluster& cluster) {
  if (!draft.settings.service_gates.drop_unserved || draft.incremental) return false;
  if (draft.active_name().empty()) return !draft.pending_name().empty();
  return draft.seen.active.exists() &&
         cluster.meta.created > draft.seen.active.cluster->meta.created;
}

}  // namespace

Fit fit_of(const ray::RayCluster& cluster, const Draft& draft, bool may_refresh) {
  const auto& goal = draft.spec().rayClusterConfig;
  const auto stored = cluster.meta.annotation(ray::kAnnotationSpecHash);
  const bool same = ray::service_hash(goal) == stored;
  if (may_refresh &&
      cluster.meta.annotation(ray::kAnnotationVersion) != draft.settings.build.version)
    return same ? Fit::Refresh : Fit::Absorb;
  if (same) return Fit::Same;
  return ray::only_adds_worker_groups(
             stored, cluster.meta.annotation(ray::kAnnotationNumWorkerGroups), goal)
             ? Fit::Grown
             : Fit::Different;
}

void create_pending(Draft& draft) {
  auto write = create(ray::kRayClusters, goal_cluster(draft, draft.pending_name()), "cluster");
  const auto key = created_key(write.body);
  write.done_event = normal("CreatedRayCluster", "Create", "Created the RayCluster " + key);
  write.failed_event = warning("FailedToCreateRayCluster", "Create",
                               fmt::format("Failed to create the RayCluster {}: {{error}}", key));
  write.why = "the status names it";
  if (const auto failure = draft.context.failures.find(write.lane);
      failure != draft.context.failures.end())
    draft.waits.push_back(
        fmt::format("RayCluster {} cannot be created: {}", key, failure->second.error.message));
  draft.write(std::move(write));
  draft.block(draft.pending_name());
}

void update_in_place(Draft& draft, const ray::RayCluster& cluster, Fit fit, std::string_view role) {
  if (fit == Fit::Same || fit == Fit::Different) return;
  draft.block(cluster.meta.key.name);
  if (fit == Fit::Refresh) {
    auto write = annotate(cluster, ray::kAnnotationVersion, draft.settings.build.version,
                          "it was made by another version of the operator");
    set_update_events(write, role);
    draft.write(std::move(write));
    return;
  }
  auto goal = goal_cluster(draft, cluster.meta.key.name);
  auto& spec = goal.as_object()["spec"].as_object();
  // Others may suspend a cluster: it stays as they left it.
  spec.erase("suspend");
  if (cluster.spec.suspend) spec["suspend"] = *cluster.spec.suspend;
  if (fit == Fit::Absorb && ray::autoscaling_enabled(cluster.spec)) keep_replicas(goal, cluster);
  auto metadata = ray::to_json(cluster.meta);
  metadata.as_object()["labels"] = ensure(goal, {"metadata", "labels"});
  metadata.as_object()["annotations"] = ensure(goal, {"metadata", "annotations"});
  goal.as_object()["metadata"] = std::move(metadata);
  kube::Write write{.kind = kube::WriteKind::Update,
                    .resource = ray::kRayClusters,
                    .key = cluster.meta.key,
                    .body = std::move(goal),
                    .lane = "cluster:" + cluster.meta.key.name,
                    .why = fit == Fit::Grown ? "worker groups were added"
                                             : "it was made by another version of the operator"};
  set_update_events(write, role);
  draft.write(std::move(write));
}

void resume_cluster(Draft& draft, const ray::RayCluster& cluster) {
  if (!ray::is_true(cluster.spec.suspend)) return;
  const auto& wanted = draft.spec().rayClusterConfig.suspend;
  // A queue manager's suspension is its own to lift.
  const bool queued = !cluster.meta.label(kKueueQueue).empty();
  if (wanted != false || queued) {
    draft.waits.push_back(fmt::format("RayCluster {} is suspended", cluster.meta.key.name));
    return;
  }
  draft.write({.kind = kube::WriteKind::Patch,
               .resource = ray::kRayClusters,
               .key = cluster.meta.key,
               .body = {{"metadata", {{"uid", cluster.meta.uid}}}, {"spec", {{"suspend", false}}}},
               .patch_type = kube::PatchType::Merge,
               .lane = "cluster:" + cluster.meta.key.name,
               .why = "rayClusterConfig.suspend is false"});
}

kube::Write deletion_of(const ray::RayCluster& cluster, std::string_view suffix) {
  auto write = remove(ray::kRayClusters, cluster.meta, "cluster:" + cluster.meta.key.name);
  write.propagation = kube::Propagation::Background;
  const auto key = cluster.meta.key.to_string();
  write.done_event = normal("DeletedRayCluster", "Delete",
                            fmt::format("Deleted the RayCluster {}{}", key, suffix));
  write.failed_event =
      warning("FailedToDeleteRayCluster", "Delete",
              fmt::format("Failed to delete the RayCluster {}{}: {{error}}", key, suffix));
  return write;
}

bool delete_dangling(Draft& draft) {
  const bool all = draft.service().meta.deleting.has_value();
  const std::chrono::seconds delay{
      draft.spec().rayClusterDeletionDelaySeconds.value_or(kDeletionDelay.count())};
  bool left = false;
  for (const auto& cluster : draft.seen.clusters) {
    const auto& name = cluster->meta.key.name;
    if (!all && (name == draft.active_name() || name == draft.pending_name())) continue;
    left = true;
    if (cluster->meta.deleting) continue;
    // Stored times are whole seconds, cut off.
    const auto rounding = std::chrono::seconds{delay.count() > 0 ? 1 : 0};
    if (!all && !never_served(draft, *cluster) &&
        !draft.has_come(dangling_since(draft, *cluster) + delay + rounding))
      continue;
    auto write = deletion_of(*cluster, "");
    write.why = all ? "the RayService is deleted" : "nobody needs it any more";
    draft.write(std::move(write));
  }
  return left;
}

}  // namespace manta::controllers::rayservice
