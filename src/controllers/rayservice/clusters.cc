#include "controllers/rayservice/clusters.h"

#include "controllers/rayservice/conditions.h"
#include "controllers/rayservice/queueing.h"
#include "controllers/rayservice/serve.h"
#include "controllers/rayservice/services.h"
#include "controllers/writes.h"
#include "ray/builders/children.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/service.h"
#include "ray/builders/shared_token.h"
#include "ray/labels.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>

namespace manta::controllers::rayservice {
namespace {

constexpr std::chrono::seconds kDeletionDelay{60};

Json goal_cluster(const Draft& draft, std::string_view name) {
  // With the gate off a strategy of steps changes nothing of what a cluster looks like.
  const bool beside_another = draft.incremental && !draft.active_name().empty();
  auto cluster =
      ray::build_cluster_for_service(draft.service(), name, beside_another, draft.settings.build);
  if (draft.settings.service_gates.shared_token) ray::share_token(cluster, draft.service());
  return cluster;
}

bool is_named(const Draft& draft, const ray::RayCluster& cluster) {
  const auto& name = cluster.meta.key.name;
  return name == draft.active_name() || name == draft.pending_name();
}

bool is_written(const Draft& draft, const ray::RayCluster& cluster) {
  return std::ranges::any_of(draft.plan.stages, [&](const kube::Stage& stage) {
    return std::ranges::find(stage, cluster.meta.key, &kube::Write::key) != stage.end();
  });
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

// The cluster is what the spec asks for: only what tells so changes, and nothing of the spec. RS-07
kube::Write refresh_of(const Draft& draft, const ray::RayCluster& cluster) {
  const auto& goal = draft.spec().rayClusterConfig;
  const auto groups = fmt::format("{}", goal.workerGroupSpecs.size());
  return {.kind = kube::WriteKind::Patch,
          .resource = ray::kRayClusters,
          .key = cluster.meta.key,
          .body = {{"metadata",
                    {{"uid", cluster.meta.uid},
                     {"annotations",
                      {{ray::kAnnotationVersion, draft.settings.build.version},
                       {ray::kAnnotationSpecHash, ray::service_hash(goal)},
                       {ray::kAnnotationNumWorkerGroups, groups}}}}}},
          .patch_type = kube::PatchType::Merge,
          .lane = "cluster:" + cluster.meta.key.name,
          .why = "it was made by another version of the operator"};
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

Time last_write(const Draft& draft, const ray::RayCluster& cluster) {
  return draft.service().status.lastUpdateTime.value_or(cluster.meta.created);
}

// No upgrade goes on. Who was active is no longer needed since UpgradeInProgress ended, who was
// pending since the next one was made. Times are of whole seconds: the next one may seem to have
// been made together with this one.
Time dangling_beside_active(const Draft& draft, const ray::RayCluster& cluster) {
  const auto made = cluster.meta.created;
  const auto* upgrade = ray::find_condition(draft.status.conditions, kUpgradeInProgress);
  const auto ended = upgrade ? upgrade->lastTransitionTime : std::nullopt;
  if (const auto next = next_creation(draft, made)) return std::max(ended.value_or(*next), *next);
  if (ended && (draft.seen.active.cluster || *ended > made)) return std::max(*ended, made);
  // What ended before this one was made tells nothing of it, and who came next was lost by hand.
  return last_write(draft, cluster);
}

// An upgrade goes on, and has overwritten when the last one ended.
Time dangling_in_upgrade(const Draft& draft, const ray::RayCluster& cluster) {
  const auto made = cluster.meta.created;
  const auto& active = draft.seen.active.cluster;
  const auto& pending = draft.seen.pending.cluster;
  if (!active && !draft.active_name().empty())  // lost by hand, and with it when it was made
    return pending ? pending->meta.created : last_write(draft, cluster);
  const bool was_active = active && made < active->meta.created;
  if (const auto next = next_creation(draft, was_active ? active->meta.created : made))
    return *next;
  // Made within one second, the pending cluster came after this all the same.
  return pending ? std::max(made, pending->meta.created) : last_write(draft, cluster);
}

// Since when nobody needs a cluster, told by times that outlive the operator's process (RS-09); not
// sooner than it was so. An upgrade overwrites some of them: before one begins, all is written
// down.
Time dangling_since(const Draft& draft, const ray::RayCluster& cluster) {
  if (const auto noted = parse_rfc3339(cluster.meta.annotation(ray::kAnnotationDroppedSince)))
    return *noted;
  if (!draft.pending_name().empty()) return dangling_in_upgrade(draft, cluster);
  if (!draft.active_name().empty()) return dangling_beside_active(draft, cluster);
  return last_write(draft, cluster);
}

// Its successor does not serve yet: nobody would answer. In steps that is so when the active
// cluster is lost in mid-rollback. What is left of the other way of upgrading counts too.
bool gets_requests(const Draft& draft, const std::shared_ptr<const ray::RayCluster>& cluster) {
  const auto& service = draft.seen.serve_service;
  const auto& route = draft.seen.route;
  if (selects(service, cluster) && (!draft.incremental || is_ours(draft, service->meta)))
    return true;
  return routed(draft, {.cluster = cluster}).value_or(0) > 0 &&
         (draft.incremental || is_ours(draft, route->meta));
}

// Made after the cluster that serves, it can only have waited its turn. RS-10
bool never_served(const Draft& draft, const ray::RayCluster& cluster) {
  if (!draft.settings.service_gates.drop_unserved || draft.incremental) return false;
  if (draft.active_name().empty()) return !draft.pending_name().empty();
  return draft.seen.active.exists() &&
         cluster.meta.created > draft.seen.active.cluster->meta.created;
}

// Ray tells Prometheus every ten seconds, and the last requests are sent when the Service turns.
constexpr std::chrono::seconds kMetricsLag{20};
constexpr std::chrono::seconds kMetricsPoll{5};

// Nobody is sent there any more, and its proxies have answered everything. RS-25
bool is_idle(Draft& draft, const ray::RayCluster& cluster, Time dropped) {
  const auto& name = cluster.meta.key.name;
  const auto pods = draft.seen.dropped_pods.find(name);
  if (!draft.settings.service_gates.delete_idle || pods == draft.seen.dropped_pods.end())
    return false;
  const auto port = ray::service_ports(cluster.spec).at(std::string(ray::kPortMetricsName));
  JsonArray proxies;
  for (const auto& pod : pods->second)
    if (!pod->podIP.empty())  // one that is being deleted may still answer its last request
      proxies.push_back({{"pod", pod->meta.key.name}, {"host", host_and_port(pod->podIP, port)}});
  if (proxies.empty()) return false;
  kube::FactRequest request{.name = "ongoing:" + name,
                            .target = std::string(kDashboardTarget),
                            .circuit = "metrics " + cluster.meta.key.to_string(),
                            .query = {{"op", "serve-ongoing"},
                                      {"namespace", cluster.meta.key.namespace_},
                                      {"port", port},
                                      {"proxies", std::move(proxies)}},
                            .interval = kMetricsPoll};
  const auto fact = draft.context.facts.find(request.name);
  draft.plan.facts.push_back(std::move(request));
  if (fact == draft.context.facts.end() || !fact->second.answer ||
      int_at(*fact->second.answer, {"ongoing"}, -1) != 0)
    return false;
  const auto trusted = dropped + kMetricsLag;
  if (fact->second.at >= trusted) return true;
  // The same answer again is no news, and nobody would call for it.
  draft.look_at(std::max(trusted, draft.now()) + kMetricsPoll);
  return false;
}

}  // namespace

Fit fit_of(const ray::RayCluster& cluster, const Draft& draft, bool may_refresh) {
  const auto& goal = draft.spec().rayClusterConfig;
  const auto wanted = ray::service_hash(goal);
  const auto stored = cluster.meta.annotation(ray::kAnnotationSpecHash);
  const bool foreign =
      cluster.meta.annotation(ray::kAnnotationVersion) != draft.settings.build.version;
  // KubeRay's hash is taken over another text, so of its clusters the spec itself is looked at.
  const bool same = wanted == stored || (foreign && wanted == ray::service_hash(cluster.spec));
  if (may_refresh && foreign) return same ? Fit::Refresh : Fit::Absorb;
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
    auto write = refresh_of(draft, cluster);
    set_update_events(write, role);
    draft.write(std::move(write));
    return;
  }
  auto goal = goal_cluster(draft, cluster.meta.key.name);
  ray::keep_token(goal, cluster);
  auto& spec = goal.as_object()["spec"].as_object();
  // Others may suspend a cluster: it stays as they left it.
  spec.erase("suspend");
  if (cluster.spec.suspend) spec["suspend"] = *cluster.spec.suspend;
  if (fit == Fit::Absorb && ray::autoscaling_enabled(cluster.spec)) keep_replicas(goal, cluster);
  auto metadata = ray::to_json(cluster.meta);
  metadata.as_object()["labels"] = ensure(goal, {"metadata", "labels"});
  keep_hold(goal, cluster);
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
  // A queue manager's suspension is its own to lift. What was held, and is no longer what the queue
  // has let run, makes way for what is.
  const bool ours = was_held(cluster) ? fit_of(cluster, draft, false) != Fit::Different
                                      : draft.spec().rayClusterConfig.suspend == false &&
                                            !is_queued(cluster.meta);
  if (ours)
    draft.write(hold_cluster(cluster, false));
  else
    draft.waits.push_back(fmt::format("RayCluster {} is suspended", cluster.meta.key.name));
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

void note_dropped(Draft& draft) {
  for (const auto& cluster : draft.seen.clusters) {
    if (is_named(draft, *cluster) || cluster->meta.deleting) continue;
    if (!cluster->meta.annotation(ray::kAnnotationDroppedSince).empty()) continue;
    if (is_written(draft, *cluster)) continue;  // it is deleted in this very plan
    draft.write({.kind = kube::WriteKind::Patch,
                 .resource = ray::kRayClusters,
                 .key = cluster->meta.key,
                 .body = {{"metadata",
                           {{"uid", cluster->meta.uid},
                            {"annotations",
                             {{ray::kAnnotationDroppedSince,
                               format_rfc3339(dangling_since(draft, *cluster))}}}}}},
                 .patch_type = kube::PatchType::Merge,
                 .lane = "cluster:" + cluster->meta.key.name,
                 .why = "the next upgrade begins before its delay is over"});
  }
}

bool delete_dangling(Draft& draft) {
  const bool all = draft.service().meta.deleting.has_value();
  const std::chrono::seconds delay{
      draft.spec().rayClusterDeletionDelaySeconds.value_or(kDeletionDelay.count())};
  bool left = false;
  for (const auto& cluster : draft.seen.clusters) {
    if (!all && is_named(draft, *cluster)) continue;
    left = true;
    if (cluster->meta.deleting) continue;
    // Stored times are whole seconds, cut off.
    const auto rounding = std::chrono::seconds{delay.count() > 0 ? 1 : 0};
    if (!all && gets_requests(draft, cluster)) continue;
    if (!all && !never_served(draft, *cluster)) {
      const auto since = dangling_since(draft, *cluster);
      if (!draft.has_come(since + delay + rounding) && !is_idle(draft, *cluster, since)) continue;
    }
    auto write = deletion_of(*cluster, "");
    write.why = all ? "the RayService is deleted" : "nobody needs it any more";
    draft.write(std::move(write));
  }
  return left;
}

}  // namespace manta::controllers::rayservice
