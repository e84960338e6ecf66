#include "controllers/raycluster/notes.h"

#include "controllers/raycluster/follow_edits.h"
#include "controllers/raycluster/lost_head.h"
#include "controllers/raycluster/worker_backoff.h"
#include "controllers/raycluster/worker_group.h"
#include "kube/quota.h"
#include "ray/builders/access.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/resources.h"
#include "ray/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace manta::controllers::raycluster {
namespace {

// deletionTimestamp has the grace period in it; what is there this much later has no node to end
// it, or a finalizer.
constexpr Duration kOverdue = std::chrono::seconds{30};

void note_conflicts(const RayClusterSeen& seen, Notes& out) {
  if (seen.head_service_name_taken)
    out.push_back({kNameConflict, "ServiceNotOwned",
                   fmt::format("Service {}/{} belongs to somebody else; rename it, or the "
                               "RayCluster",
                               seen.key().namespace_, ray::head_service_name(*seen.cluster))});
  else if (ray::needs_auth_secret(seen.spec()) && seen.auth_secret &&
           !seen.auth_secret->has(ray::kAuthTokenKey))
    out.push_back({kNameConflict, "SecretWithoutToken",
                   fmt::format("Secret {} has no key {}, so no Ray container can start; rename it, "
                               "or name another in authOptions.secretName",
                               seen.auth_secret->meta.key.to_string(), ray::kAuthTokenKey)});
}

void note_orphans(const RayClusterSeen& seen, Notes& out) {
  std::set<std::string_view> groups;
  for (const auto& pod : orphaned_workers(seen)) groups.insert(pod->meta.label(ray::kLabelGroup));
  if (groups.empty()) return;
  out.push_back({kOrphanedWorkerGroup, "GroupNotInSpec",
                 fmt::format("Pods of worker groups that are no longer in the spec run on and are "
                             "not replaced: {}",
                             fmt::join(groups, ", "))});
}

// Nobody ends them: what never reached Ray its autoscaler does not know. AS-04
void note_beyond_maximum(const RayClusterSeen& seen, Notes& out) {
  std::vector<std::string> groups;
  for (const auto& group : seen.spec().workerGroupSpecs) {
    if (!group.maxReplicas) continue;
    const auto pods = living(pods_of_group(seen.pods, group.groupName));
    const auto pending =
        std::ranges::count_if(pods, [](const PodPtr& pod) { return never_ran(*pod); });
    const auto beyond = std::min<std::int64_t>(pending, std::ssize(pods) - ray::max_pods(group));
    if (beyond > 0)
      groups.push_back(fmt::format("group {}: {} Pods beyond maxReplicas {}", group.groupName,
                                   beyond, *group.maxReplicas));
  }
  if (!groups.empty())
    out.push_back({kWorkersBeyondMaximum, "NeverRan",
                   fmt::format("Pods that have never run, so the autoscaler does not end them; "
                               "feature gate RayClusterTrimPending deletes them, of slices those "
                               "of which no Pod has run: {}",
                               fmt::join(groups, "; "))});
}

void note_going_head(const RayClusterSeen& seen, const kube::PlanContext& context, Notes& out) {
  const auto* head = going_head(seen);
  if (!head || until_head_is_overdue(seen, context.now)) return;
  auto text = fmt::format("head Pod {} is terminating since {}", head->meta.key.name,
                          format_rfc3339(*head->meta.deleting));
  if (const auto why = why_node_is_unknown(context); !why.empty())
    text +=
        fmt::format("; whether its Node {} is still there cannot be told: {}", head->nodeName, why);
  out.push_back({kHeadTerminating, "DeletionPending", std::move(text)});
}

// Once a Pod that has ended was replaced, what it ended with stays told until its successor is
// ready.
void note_failing_workers(const RayClusterSeen& seen, Time now, Notes& out) {
  const WorkerBackoff backoff(seen.spec(), now);
  std::vector<std::string> ended;
  bool trying = false;
  for (const auto& group : seen.spec().workerGroupSpecs) {
    const auto pods = living(pods_of_group(seen.pods, group.groupName));
    if (auto text = backoff.describe_ended(pods); !text.empty())
      ended.push_back(fmt::format("group {}: {}", group.groupName, text));
    trying |= backoff.is_trying(pods);
  }
  if (!ended.empty()) {
    out.push_back({kWorkersFailing, "BackOff", fmt::format("{}", fmt::join(ended, "; "))});
    return;
  }
  const auto& before = seen.cluster->status.conditions;
  const auto told = std::ranges::find(before, kWorkersFailing, &ray::Condition::type);
  if (trying && told != before.end()) out.push_back({kWorkersFailing, "BackOff", told->message});
}

void note_head_service(const RayClusterSeen& seen, const Settings& settings, Notes& out) {
  if (auto drift = head_service_drift(seen, settings); !drift.empty())
    out.push_back({kHeadServiceDrift, "ImmutableFields", std::move(drift)});
}

// Kueue makes room by taking the gates away.
void note_gated(const RayClusterSeen& seen, Notes& out) {
  std::set<std::string_view> groups, words;
  for (const auto& pod : seen.pods)
    if (pod->trouble && pod->trouble->starts_with(kSchedulingGated) && !is_deleting(*pod)) {
      groups.insert(pod->meta.label(ray::kLabelGroup));
      words.insert(*pod->trouble);
    }
  if (!groups.empty())
    out.push_back({kQuotaExceeded, kSchedulingGated,
                   fmt::format("Pods are held back until there is room: {} ({})",
                               fmt::join(groups, ", "), fmt::join(words, "; "))});
}

void note_quota(const RayClusterSeen& seen, const kube::Failures& failures, Notes& out) {
  std::vector<std::string> groups;
  for (const auto& [lane, failure] : failures)
    if (kube::refused_by_quota(failure.error))
      groups.push_back(lane.starts_with("group/") ? lane.substr(6) : lane);
  if (groups.empty()) return note_gated(seen, out);
  out.push_back({kQuotaExceeded, "QuotaExceeded",
                 fmt::format("no room in the quota for Pods of: {}", fmt::join(groups, ", "))});
}

bool is_orphan(const RayClusterSeen& seen, const kube::PodView& pod) {
  const auto& groups = seen.spec().workerGroupSpecs;
  return pod.meta.label(ray::kLabelNodeType) == ray::kNodeTypeWorker &&
         std::ranges::find(groups, pod.meta.label(ray::kLabelGroup),
                           &ray::WorkerGroupSpec::groupName) == groups.end();
}

}  // namespace

std::string several_heads(const RayClusterSeen& seen) {
  std::vector<std::string_view> names;
  for (const auto& head : pods_of_type(seen.pods, ray::kNodeTypeHead))
    names.push_back(head->meta.key.name);
  if (names.size() < 2) return {};
  return fmt::format(
      "{} head Pods are behind one Service: {}. Either may hold what runs on this cluster, so no "
      "Pod is made or deleted until all but one are; delete those that are not needed",
      names.size(), fmt::join(names, ", "));
}

Pods orphaned_workers(const RayClusterSeen& seen) {
  auto out = living(seen.pods);
  std::erase_if(out, [&](const auto& pod) { return !is_orphan(seen, *pod); });
  return out;
}

Pods expected_pods(const RayClusterSeen& seen) {
  auto out = living(seen.pods);
  std::erase_if(out, [&](const auto& pod) { return is_orphan(seen, *pod); });
  return out;
}

std::optional<Duration> until_head_is_overdue(const RayClusterSeen& seen, Time now) {
  const auto* head = going_head(seen);
  if (!head || now >= *head->meta.deleting + kOverdue) return std::nullopt;
  return *head->meta.deleting + kOverdue - now;
}

Notes notes_about(const RayClusterSeen& seen, const Settings& settings,
                  const kube::PlanContext& context) {
  Notes out;
  note_conflicts(seen, out);
  note_orphans(seen, out);
  if (!seen.foreign_pods.empty())
    out.push_back({kForeignPods, "PodsNotOwned",
                   fmt::format("Pods with this cluster's labels that are not its own do not count: "
                               "{}",
                               fmt::join(seen.foreign_pods, ", "))});
  note_going_head(seen, context, out);
  if (auto heads = several_heads(seen); !heads.empty())
    out.push_back({kMultipleHeads, "HeadNotUnique", std::move(heads)});
  if (ray::autoscaling_enabled(seen.spec()) && !settings.random_pod_delete)
    note_beyond_maximum(seen, out);
  if (settings.cluster_gates.quota_condition) note_quota(seen, context.failures, out);
  if (settings.cluster_gates.worker_backoff) note_failing_workers(seen, context.now, out);
  if (settings.cluster_gates.follow_edits) note_head_service(seen, settings, out);
  if (!seen.cluster->replicas_owner.empty())
    out.push_back({kReplicasContested, "ReplicasInManifest", seen.cluster->replicas_owner});
  return out;
}

void set_notes(std::vector<ray::Condition>& conditions, const Notes& notes, std::int64_t generation,
               Time now) {
  for (const auto type : {kInvalidSpec, kNameConflict, kOrphanedWorkerGroup, kForeignPods,
                          kHeadTerminating, kMultipleHeads, kWorkersBeyondMaximum, kQuotaExceeded,
                          kWorkersFailing, kHeadServiceDrift, kReplicasContested}) {
    const auto note = std::ranges::find(notes, type, &Note::type);
    if (note == notes.end()) {
      ray::remove_condition(conditions, type);
      continue;
    }
    ray::set_condition(conditions,
                       {.type = std::string(type),
                        .status = "True",
                        .observedGeneration = generation,
                        .reason = std::string(note->reason),
                        .message = note->message},
                       now);
  }
}

}  // namespace manta::controllers::raycluster
