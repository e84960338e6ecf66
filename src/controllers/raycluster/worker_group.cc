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
    const int use = pod.phase != kube::PodPhase::Running ? 0 : pod.is_ready() ? 2 : 1;
    return std::tuple(use, -pod.meta.created.time_since_epoch().count(),
                      -label_number(pod, ray::kLabelReplicaIndex), pod.meta.key.name);
  };
  return order(*a) < order(*b);
}

}  // namespace

GroupDecision decide_group(const ray::WorkerGroupSpec& group, const GroupSeen& seen) {
  GroupDecision out;
  for (const auto& pod : seen.pods)
    if (!is_deleting(*pod))
      if (auto verdict = judge_pod(*pod, ray::kNodeTypeWorker); verdict.remove)
        out.remove.push_back({pod, PodRemoval::Cause::Unhealthy, std::move(verdict.why)});
  if (!out.remove.empty()) return out;  // their replacements come when they have gone

  const auto& named = group.scaleStrategy.workersToDelete;
  for (const auto& pod : seen.cluster)
    if (!is_deleting(*pod) && std::ranges::find(named, pod->meta.key.name) != named.end())
      out.remove.push_back({pod, PodRemoval::Cause::Named, "named in workersToDelete"});

  Pods running;
  for (const auto& pod : seen.pods)
    if (!is_deleting(*pod) &&
        std::ranges::none_of(out.remove, [&](const auto& r) { return r.pod == pod; }))
      running.push_back(pod);

  const auto missing = static_cast<std::int64_t>(ray::desired_pods(group)) -
                       static_cast<std::int64_t>(running.size());
  if (missing > 0) {
    std::set<std::int32_t> used;
    for (const auto& pod : running) used.insert(label_number(*pod, ray::kLabelReplicaIndex));
    for (std::int64_t made = 0, index = 0; made < missing; ++made) {
      while (used.contains(static_cast<std::int32_t>(index))) ++index;
      out.create.push_back(
          {.replica_index = seen.index_replicas ? static_cast<std::int32_t>(index) : -1});
      ++index;
    }
  } else if (missing < 0 && (seen.surplus_may_go || seen.trim_pending)) {
    std::ranges::sort(running, goes_before);
    running.resize(static_cast<std::size_t>(-missing));
    // The autoscaler chooses among those that Ray knows.
    if (!seen.surplus_may_go)
      std::erase_if(running, [](const auto& pod) { return pod->phase != kube::PodPhase::Pending; });
    for (const auto& pod : running)
      out.remove.push_back({pod, PodRemoval::Cause::Surplus, "more Pods than desired"});
  }
  return out;
}

}  // namespace manta::controllers::raycluster
