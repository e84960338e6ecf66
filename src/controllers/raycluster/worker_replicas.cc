// Multi-host groups: decide_replicas. A replica is a set of numOfHosts Pods that share the label
// ray.io/worker-group-replica-name; Pods without it belong to none and are left alone.
#include "controllers/raycluster/pod_health.h"
#include "controllers/raycluster/worker_group.h"
#include "ray/builders/resources.h"
#include "ray/labels.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace manta::controllers::raycluster {
namespace {

struct Replica {
  Pods pods = {};
  bool going() const {
    return std::ranges::all_of(pods, [](const auto& pod) { return is_deleting(*pod); });
  }
  bool broken(std::size_t hosts) const {
    return pods.size() < hosts ||
           std::ranges::any_of(pods, [](const auto& pod) { return is_deleting(*pod); });
  }
  std::int32_t index() const {
    const auto text = pods.front()->meta.label(ray::kLabelReplicaIndex);
    std::int32_t number = -1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  const kube::PodView* unhealthy(std::string& why) const {
    for (const auto& pod : pods)
      if (auto verdict = judge_pod(*pod, ray::kNodeTypeWorker); verdict.remove) {
        why = std::move(verdict.why);
        return pod.get();
      }
    return nullptr;
  }
  bool has_any(const std::vector<std::string>& names) const {
    return std::ranges::any_of(pods, [&](const auto& pod) {
      return std::ranges::find(names, pod->meta.key.name) != names.end();
    });
  }
};

void remove(GroupDecision& out, const Replica& replica, std::string why) {
  for (const auto& pod : replica.pods)
    if (!is_deleting(*pod)) out.remove.push_back({pod, PodRemoval::Cause::Replica, why});
}

std::map<std::string, Replica> replicas_of(const Pods& pods) {
  std::map<std::string, Replica> out;
  for (const auto& pod : pods)
    if (const auto name = pod->meta.label(ray::kLabelReplicaName); !name.empty())
      out[std::string(name)].pods.push_back(pod);
  return out;
}

}  // namespace

GroupDecision decide_replicas(const ray::WorkerGroupSpec& group, const GroupSeen& seen) {
  GroupDecision out;
  const auto hosts = static_cast<std::size_t>(std::max(group.numOfHosts, 1));
  std::vector<Replica> valid;
  for (auto& [name, replica] : replicas_of(seen.pods)) {
    std::string why;
    if (replica.going()) continue;
    if (replica.broken(hosts))
      remove(out, replica, "cleanup of incomplete multi-host group");
    else if (replica.unhealthy(why))
      remove(out, replica, why);
    else if (replica.has_any(group.scaleStrategy.workersToDelete))
      remove(out, replica, "autoscaler scale-down request");
    else
      valid.push_back(std::move(replica));
  }

  const auto wanted = static_cast<std::size_t>(ray::desired_pods(group)) / hosts;
  if (valid.size() < wanted) {
    std::set<std::int32_t> used;
    for (const auto& replica : valid) used.insert(replica.index());
    std::int32_t index = 0;
    for (std::size_t made = 0; made < wanted - valid.size(); ++made, ++index) {
      while (used.contains(index)) ++index;
      for (std::size_t host = 0; host < hosts; ++host)
        out.create.push_back({.replica_index = index,
                              .host_index = static_cast<std::int32_t>(host),
                              .replica_number = static_cast<std::int32_t>(made)});
    }
  } else if (valid.size() > wanted && seen.surplus_may_go) {
    // The highest indices go, so that those left stay dense.
    std::ranges::sort(valid, std::greater{}, &Replica::index);
    for (std::size_t i = 0; i < valid.size() - wanted; ++i) remove(out, valid[i], "scaling down");
  }
  return out;
}

}  // namespace manta::controllers::raycluster
