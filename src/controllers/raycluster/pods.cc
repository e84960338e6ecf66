#include "controllers/raycluster/pods.h"

#include "controllers/naming.h"
#include "controllers/raycluster/notes.h"
#include "controllers/raycluster/pod_health.h"
#include "controllers/writes.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/pod.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::controllers::raycluster {
namespace {

kube::Write delete_pod(const kube::PodView& pod, std::string_view lane, std::string_view marker,
                       std::string why) {
  auto write = remove(kube::kPods, pod.meta, lane);
  write.marker = std::string(marker);
  write.why = std::move(why);
  return write;
}

kube::Write delete_worker(const ray::WorkerGroupSpec& group, const PodRemoval& removal) {
  using Cause = PodRemoval::Cause;
  const auto& pod = *removal.pod;
  const auto key = pod.meta.key.to_string();
  auto write = delete_pod(pod, group_lane(group.groupName), "FailedDeleteWorkerPod", removal.why);
  const auto events = [&](std::string done, std::string failed) {
    write.done_event = normal("DeletedWorkerPod", "Delete", std::move(done));
    write.failed_event = warning("FailedToDeleteWorkerPod", "Delete", failed + ", {error}");
  };
  switch (removal.cause) {
    case Cause::Unhealthy:
      events("Deleted worker Pod " + describe_pod(pod),
             "Failed deleting worker Pod " + describe_pod(pod));
      break;
    case Cause::Named:
      events("Deleted pod " + key, "Failed deleting pod " + key);
      break;
    case Cause::Surplus:
      events("Deleted Pod " + key, "Failed deleting Pod " + key);
      break;
    case Cause::Replica: {
      auto state = describe_pod(pod).substr(key.size());
      events(
          fmt::format("Deleted worker Pod {} for group {}: {}", key, group.groupName, removal.why),
          fmt::format("Failed deleting worker Pod {} for group {}{}", key, group.groupName, state));
      break;
    }
  }
  return write;
}

// Each plan counts its new replicas from 0, so two plans of one instant would name theirs alike.
// Times of creation are whole seconds: of what is older the name does not count, and to look at it
// for each new Pod would take long.
bool is_taken(const RayClusterSeen& seen, std::string_view replica, Time now) {
  return std::ranges::any_of(seen.pods, [&](const auto& pod) {
    return pod->meta.created + std::chrono::seconds{1} >= now &&
           pod->meta.label(ray::kLabelReplicaName) == replica;
  });
}

std::string new_replica_name(const RayClusterSeen& seen, const ray::WorkerGroupSpec& group,
                             std::int32_t number, Time now) {
  auto salt = fmt::format("{}/{}", group.groupName, number);
  while (true) {
    auto name =
        fmt::format("{}-{}", group.groupName, derived_suffix(seen.cluster->meta.uid, salt, now));
    if (!is_taken(seen, name, now)) return name;
    salt += "/again";
  }
}

kube::Write adopt_worker(const RayClusterSeen& seen, const ray::WorkerGroupSpec& group,
                         const Adoption& adoption, Time now) {
  const auto& [pod, name, place] = adoption;
  const auto replica =
      name.empty() ? new_replica_name(seen, group, place.replica_number, now) : name;
  return {.kind = kube::WriteKind::Patch,
          .resource = kube::kPods,
          .key = pod->meta.key,
          .body = {{"metadata",
                    {{"uid", pod->meta.uid},
                     {"labels",
                      {{ray::kLabelReplicaName, replica},
                       {ray::kLabelReplicaIndex, std::to_string(place.replica_index)},
                       {ray::kLabelHostIndex, std::to_string(place.host_index)}}}}}},
          .lane = group_lane(group.groupName),
          .why = "the Pod was made before replicas had names"};
}

kube::Write create_worker(const RayClusterSeen& seen, const ray::WorkerGroupSpec& group,
                          const NewWorker& worker, const Settings& settings, Time now,
                          const WorkerBackoff* backoff) {
  ray::WorkerSlot slot{.replica_index = std::max(worker.replica_index, 0),
                       .host_index = std::max(worker.host_index, 0)};
  if (worker.replica_number >= 0)
    slot.replica_name = new_replica_name(seen, group, worker.replica_number, now);
  auto write =
      create(kube::kPods, ray::build_worker_pod(*seen.cluster, group, slot, settings.build),
             group_lane(group.groupName));
  if (backoff)
    ensure(write.body, {"metadata", "annotations", ray::kAnnotationWorkerAttempt}) =
        backoff->stamp(worker.attempt);
  write.marker = "FailedCreateWorkerPod";
  write.done_event = normal("CreatedWorkerPod", "Create",
                            fmt::format("Created worker Pod {}", created_key(write.body)));
  write.failed_event =
      warning("FailedToCreateWorkerPod", "Create",
              fmt::format("Failed to create worker Pod for the cluster {}, {{error}}",
                          seen.key().to_string()));
  write.why = "fewer Pods than desired";
  return write;
}

// RC-12
kube::Write delete_orphan(const kube::PodView& pod) {
  auto write = delete_pod(pod, "orphans", "FailedDeleteWorkerPod",
                          "its worker group is no longer in the spec");
  const auto key = pod.meta.key.to_string();
  write.done_event = normal("DeletedWorkerPod", "Delete",
                            fmt::format("Deleted worker Pod {} for group {}: {}", key,
                                        pod.meta.label(ray::kLabelGroup), write.why));
  write.failed_event = warning("FailedToDeleteWorkerPod", "Delete",
                               fmt::format("Failed deleting worker Pod {}, {{error}}", key));
  return write;
}

// Its Pods go with one call, and none comes while it sleeps.
kube::Stage suspended_group_writes(const RayClusterSeen& seen, const ray::WorkerGroupSpec& group,
                                   const Pods& pods) {
  return delete_all(
      seen, pods,
      fmt::format("{},{}={}", all_pods_selector(seen), ray::kLabelGroup, group.groupName),
      {.lane = group_lane(group.groupName),
       .marker = "FailedDeleteWorkerPod",
       .done_event =
           normal("DeletedWorkerPod", "Delete",
                  fmt::format("Deleted all pods for suspended worker group {} in RayCluster {}",
                              group.groupName, seen.key().to_string())),
       .failed_event = warning(
           "FailedToDeleteWorkerPodCollection", "Delete",
           fmt::format(
               "Failed deleting worker Pods for suspended group {} in RayCluster {}, {{error}}",
               group.groupName, seen.key().to_string())),
       .why = "the worker group is suspended"});
}

}  // namespace

std::string group_lane(std::string_view group) { return fmt::format("group/{}", group); }

std::string all_pods_selector(const RayClusterSeen& seen) {
  return fmt::format("{}={},{}", ray::kLabelCluster, seen.key().name, kRayPods);
}

kube::Stage delete_all(const RayClusterSeen& seen, const Pods& pods, std::string selector,
                       kube::Write as) {
  const auto there = living(pods);
  if (there.empty()) return {};
  if (seen.foreign_pods.empty()) {
    as.kind = kube::WriteKind::DeleteCollection;
    as.resource = kube::kPods;
    as.key = {seen.key().namespace_, {}};
    as.label_selector = std::move(selector);
    return {std::move(as)};
  }
  // The head is the last: it says why all of them go.
  const auto is_head = [](const auto& pod) {
    return pod->meta.label(ray::kLabelNodeType) == ray::kNodeTypeHead;
  };
  const bool heads_only = std::ranges::all_of(pods, is_head);
  kube::Stage stage;
  for (const auto& pod : there) {
    if (is_head(pod) && !heads_only) continue;
    auto& write = stage.emplace_back(delete_pod(*pod, as.lane, as.marker, as.why));
    write.done_event = as.done_event;
    if (write.done_event) write.done_event->note += ": " + pod->meta.key.to_string();
    write.failed_event = as.failed_event;
  }
  return stage;
}

kube::Stage head_writes(const RayClusterSeen& seen, const HeadDecision& head,
                        const Settings& settings) {
  switch (head.step) {
    case HeadStep::Keep:
    case HeadStep::Hold:
      return {};
    case HeadStep::Delete: {
      const auto heads = pods_of_type(seen.pods, ray::kNodeTypeHead);
      const auto& pod = *heads.front();
      auto write = delete_pod(pod, kHeadLane, "FailedDeleteHeadPod", head.why);
      write.done_event =
          normal("DeletedHeadPod", "Delete", "Deleted head Pod " + describe_pod(pod));
      write.failed_event = warning("FailedToDeleteHeadPod", "Delete",
                                   "Failed deleting head Pod " + describe_pod(pod) + ", {error}");
      return {std::move(write)};
    }
    case HeadStep::Create: {
      auto write =
          create(kube::kPods, ray::build_head_pod(*seen.cluster, settings.build), kHeadLane);
      const auto key = created_key(write.body);
      write.marker = "FailedCreateHeadPod";
      write.done_event = normal("CreatedHeadPod", "Create", "Created head Pod " + key);
      write.failed_event = warning("FailedToCreateHeadPod", "Create",
                                   fmt::format("Failed to create head Pod {}, {{error}}", key));
      write.why = head.why;
      return {std::move(write)};
    }
  }
  return {};
}

kube::Stage sleeping_group_writes(const RayClusterSeen& seen) {
  kube::Stage stage;
  for (const auto& group : seen.spec().workerGroupSpecs)
    if (ray::is_true(group.suspend))
      for (auto& write :
           suspended_group_writes(seen, group, pods_of_group(seen.pods, group.groupName)))
        stage.push_back(std::move(write));
  return stage;
}

kube::Stage group_writes(const RayClusterSeen& seen, const Settings& settings, Time now,
                         std::optional<Time>& next_attempt) {
  kube::Stage stage;
  const WorkerBackoff counted(seen.spec(), now);
  const auto* backoff = settings.cluster_gates.worker_backoff ? &counted : nullptr;
  const bool autoscaled = ray::autoscaling_enabled(seen.spec());
  const auto groups = static_cast<std::int64_t>(seen.spec().workerGroupSpecs.size());
  for (const auto& group : seen.spec().workerGroupSpecs) {
    const auto pods = pods_of_group(seen.pods, group.groupName);
    if (ray::is_true(group.suspend)) {
      for (auto& write : suspended_group_writes(seen, group, pods))
        stage.push_back(std::move(write));
      continue;
    }
    const GroupSeen group_seen{.pods = pods,
                               .surplus_may_go = !autoscaled || settings.random_pod_delete,
                               .index_replicas = settings.build.multi_host_indexing,
                               .trim_pending = settings.cluster_gates.trim_pending,
                               .replace_slices = settings.cluster_gates.replace_slices,
                               .most_at_once = std::max<std::int64_t>(1, kPodsAPlan / groups),
                               .backoff = backoff};
    const bool replicas = group.numOfHosts > 1 && settings.build.multi_host_indexing;
    const auto decision =
        replicas ? decide_replicas(group, group_seen) : decide_group(group, group_seen);
    for (const auto& adoption : decision.adopt)
      stage.push_back(adopt_worker(seen, group, adoption, now));
    for (const auto& removal : decision.remove) stage.push_back(delete_worker(group, removal));
    for (const auto& worker : decision.create)
      stage.push_back(create_worker(seen, group, worker, settings, now, backoff));
    if (const auto next = decision.next_attempt; next && (!next_attempt || *next < *next_attempt))
      next_attempt = next;
  }
  if (settings.cluster_gates.delete_orphans)
    for (const auto& pod : orphaned_workers(seen)) stage.push_back(delete_orphan(*pod));
  return stage;
}

}  // namespace manta::controllers::raycluster
