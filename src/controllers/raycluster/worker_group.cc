#include "controllers/raycluster/worker_group.h"

#include "controllers/raycluster/pod_health.h"
#include "ray/builders/resources.h"
#include "ray/labels.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace manta::controllers::raycluster {
namespace {

bool goes_before(const PodPtr& a, const PodPtr& b) {
  const auto order = [](const kube::PodView& pod) {
    return std::tuple(use_of(pod), -pod.meta.created.time_since_epoch().count(),
                      -label_number(pod, ray::kLabelReplicaIndex), pod.meta.key.name);
  };
  return order(*a) < order(*b);
}

// The autoscaler chooses among those that Ray knows, and within maxReplicas. AS-04
Pods surplus_of(const ray::WorkerGroupSpec& group, const GroupSeen& seen, Pods pods,
                std::int64_t beyond_desired) {
  auto count = beyond_desired;
  if (!seen.surplus_may_go) {
    count = seen.trim_pending ? std::ssize(pods) - ray::max_pods(group) : 0;
    std::erase_if(pods, [](const auto& pod) { return !never_ran(*pod); });
  }
  std::ranges::sort(pods, goes_before);
  pods.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, std::ssize(pods))));
  return pods;
}

}  // namespace

int use_of(const kube::PodView& pod) {
  return pod.phase != kube::PodPhase::Running ? 0 : pod.is_ready() ? 2 : 1;
}

bool never_ran(const kube::PodView& pod) { return pod.phase == kube::PodPhase::Pending; }

bool holds(const WorkerBackoff& backoff, const kube::PodView& ended, GroupDecision& out) {
  const auto until = backoff.held_until(ended);
  if (until && (!out.next_attempt || *until < *out.next_attempt)) out.next_attempt = until;
  return until.has_value();
}

GroupDecision decide_group(const ray::WorkerGroupSpec& group, const GroupSeen& seen) {
  GroupDecision out;
  std::int32_t attempt = 0;
  for (const auto& pod : living(seen.pods)) {
    auto verdict = judge_pod(*pod, ray::kNodeTypeWorker);
    if (!verdict.remove || (seen.backoff && holds(*seen.backoff, *pod, out))) continue;
    out.remove.push_back({pod, PodRemoval::Cause::Unhealthy, std::move(verdict.why)});
    if (seen.backoff) attempt = std::max(attempt, seen.backoff->attempt_after(*pod));
  }
  // Their replacements come when they have gone; those that count their attempts, with their going.
  if (!out.remove.empty() && !seen.backoff) return out;

  const auto& named = group.scaleStrategy.workersToDelete;
  const auto goes = [&](const PodPtr& pod) {
    return std::ranges::find(out.remove, pod, &PodRemoval::pod) != out.remove.end();
  };
  for (const auto& pod : living(seen.pods))  // SEC-02: nobody else's, whatever is named
    if (!goes(pod) && std::ranges::find(named, pod->meta.key.name) != named.end())
      out.remove.push_back({pod, PodRemoval::Cause::Named, "named in workersToDelete"});

  Pods running;
  for (const auto& pod : living(seen.pods))
    if (!goes(pod)) running.push_back(pod);

  const auto missing = static_cast<std::int64_t>(ray::desired_pods(group)) -
                       static_cast<std::int64_t>(running.size());
  if (missing > 0) {
    std::set<std::int32_t> used;
    for (const auto& pod : running) used.insert(label_number(*pod, ray::kLabelReplicaIndex));
    const auto making = std::min(missing, seen.most_at_once);
    for (std::int64_t made = 0, index = 0; made < making; ++made) {
      while (used.contains(static_cast<std::int32_t>(index))) ++index;
      out.create.push_back(
          {.replica_index = seen.index_replicas ? static_cast<std::int32_t>(index) : -1,
           .attempt = attempt});
      ++index;
    }
  } else if (missing < 0) {
    for (const auto& pod : surplus_of(group, seen, std::move(running), -missing))
      out.remove.push_back({pod, PodRemoval::Cause::Surplus, "more Pods than desired"});
  }
  return out;
}

}  // namespace manta::controllers::raycluster
