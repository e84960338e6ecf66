#include "controllers/raycluster/worker_group.h"

#include "controllers/raycluster/pod_health.h"
#include "ray/builders/resources.h"
#include "ray/labels.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace manta::controllers::raycluster {
namespace {

std::int32_t label_number(const kube::PodView& pod, std::string_view key) {
  const auto text = pod.meta.label(key);
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

// Who goes first: what is going anyway, then what serves least, then the youngest.
bool goes_before(const PodPtr& a, const PodPtr& b) {
  const auto rank = [](const kube::PodView& pod) {
    if (is_deleting(pod)) return 0;
    if (pod.phase != kube::PodPhase::Running) return 1;
    return pod.is_ready() ? 3 : 2;
  };
  const auto ra = rank(*a), rb = rank(*b);
  if (ra != rb) return ra < rb;
  if (a->meta.created != b->meta.created) return a->meta.created > b->meta.created;
  return a->meta.key < b->meta.key;
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
    if (std::ranges::none_of(out.remove, [&](const auto& r) { return r.pod == pod; }))
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
  } else if (missing < 0 && seen.surplus_may_go) {
    std::ranges::sort(running, goes_before);
    running.resize(static_cast<std::size_t>(-missing));
    for (const auto& pod : running)
      if (!is_deleting(*pod))
        out.remove.push_back({pod, PodRemoval::Cause::Surplus, "more Pods than desired"});
  }
  return out;
}

}  // namespace manta::controllers::raycluster
