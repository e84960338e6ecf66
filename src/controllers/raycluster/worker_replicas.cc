// Multi-host groups: decide_replicas. A replica is a set of numOfHosts Pods that share the label
// ray.io/worker-group-replica-name.
#include "controllers/raycluster/pod_health.h"
#include "controllers/raycluster/worker_group.h"
#include "ray/builders/resources.h"
#include "ray/labels.h"

#include <algorithm>
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
  bool ready() const {
    return std::ranges::all_of(pods, [](const auto& pod) { return pod->is_ready(); });
  }
  int use() const {
    int least = use_of(*pods.front());
    for (const auto& pod : pods) least = std::min(least, use_of(*pod));
    return least;
  }
  std::int32_t index() const { return label_number(*pods.front(), ray::kLabelReplicaIndex); }
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

using Replicas = std::map<std::string, Replica>;

// By name. A Pod that has an index only was made when numOfHosts was 1, and is one by itself.
std::string_view replica_of(const kube::PodView& pod) {
  const auto name = pod.meta.label(ray::kLabelReplicaName);
  if (!name.empty() || pod.meta.label(ray::kLabelReplicaIndex).empty()) return name;
  return pod.meta.key.name;
}

Replicas replicas_of(const Pods& pods) {
  Replicas out;
  for (const auto& pod : pods)
    if (const auto name = replica_of(*pod); !name.empty())
      out[std::string(name)].pods.push_back(pod);
  return out;
}

Pods without_replica(const Pods& pods) {
  Pods out;
  for (const auto& pod : pods)
    if (!is_deleting(*pod) && replica_of(*pod).empty()) out.push_back(pod);
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return std::tie(a->meta.created, a->meta.key) < std::tie(b->meta.created, b->meta.key);
  });
  return out;
}

// Replicas that lack Pods are filled before new ones are begun: an adoption that was broken off
// goes on where it was. What is left over makes a replica that lacks Pods, and goes as such.
std::vector<Adoption> adopt(const Pods& loose, const Replicas& replicas, std::size_t hosts) {
  std::vector<Adoption> out;
  std::set<std::int32_t> used;
  auto next = loose.begin();
  const auto fill = [&](const std::string& name, const Pods& there, std::int32_t index,
                        std::int32_t number) {
    std::set<std::int32_t> taken;
    for (const auto& pod : there) taken.insert(label_number(*pod, ray::kLabelHostIndex));
    auto missing = hosts - std::min(hosts, there.size());
    for (std::int32_t host = 0; next != loose.end() && missing > 0; ++host)
      if (taken.insert(host).second && missing-- > 0)
        out.push_back({*next++,
                       name,
                       {.replica_index = index, .host_index = host, .replica_number = number}});
  };
  for (const auto& [name, replica] : replicas) {
    if (replica.going() || replica.pods.front()->meta.label(ray::kLabelReplicaName).empty())
      continue;
    used.insert(replica.index());
    fill(name, replica.pods, replica.index(), -1);
  }
  for (std::int32_t number = 0, index = 0; next != loose.end(); ++number, ++index) {
    while (used.contains(index)) ++index;
    fill({}, {}, index, number);
  }
  return out;
}

// As surplus_of of single Pods: Ray knows a replica of which one Pod has run.
std::vector<Replica> surplus_of(const ray::WorkerGroupSpec& group, const GroupSeen& seen,
                                std::vector<Replica> replicas, std::int64_t beyond_desired) {
  auto count = beyond_desired;
  if (!seen.surplus_may_go) {
    count = seen.trim_pending && group.maxReplicas ? std::ssize(replicas) - *group.maxReplicas : 0;
    std::erase_if(replicas, [](const auto& replica) {
      return !std::ranges::all_of(replica.pods, [](const auto& pod) { return never_ran(*pod); });
    });
  }
  // Of those that serve alike the highest indices go, so that those left stay dense.
  std::ranges::sort(replicas, {},
                    [](const auto& replica) { return std::pair(replica.use(), -replica.index()); });
  replicas.resize(
      static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, std::ssize(replicas))));
  return replicas;
}

}  // namespace

GroupDecision decide_replicas(const ray::WorkerGroupSpec& group, const GroupSeen& seen) {
  GroupDecision out;
  const auto hosts = static_cast<std::size_t>(std::max(group.numOfHosts, 1));
  auto replicas = replicas_of(seen.pods);
  if (const auto loose = without_replica(seen.pods); !loose.empty()) {
    out.adopt = adopt(loose, replicas, hosts);
    return out;
  }
  std::vector<Replica> valid;
  std::vector<Replica> held;
  std::int32_t attempt = 0;
  for (auto& [name, replica] : replicas) {
    std::string why;
    if (replica.going()) continue;
    if (replica.broken(hosts)) {
      remove(out, replica, "cleanup of incomplete multi-host group");
    } else if (const auto* ended = replica.unhealthy(why)) {
      const bool named = replica.has_any(group.scaleStrategy.workersToDelete);
      if (seen.backoff && !named && holds(*seen.backoff, *ended, out)) {
        held.push_back(std::move(replica));
        continue;
      }
      if (seen.backoff) attempt = std::max(attempt, seen.backoff->attempt_after(*ended));
      remove(out, replica, why);
    } else if (replica.has_any(group.scaleStrategy.workersToDelete)) {
      remove(out, replica, "autoscaler scale-down request");
    } else {
      valid.push_back(std::move(replica));
    }
  }

  const auto wanted = static_cast<std::size_t>(ray::desired_pods(group)) / hosts;
  if (seen.replace_slices && out.remove.empty() && valid.size() >= wanted &&
      std::ranges::none_of(valid, [&](const auto& replica) {
        return replica.pods.size() == hosts && !replica.ready();
      })) {
    // One at a time: the next one goes when its predecessor's successor is ready.
    const auto large = std::ranges::find_if(
        valid, [&](const auto& replica) { return replica.pods.size() > hosts; });
    if (large != valid.end()) {
      remove(out, *large, "numOfHosts has changed");
      valid.erase(large);
    }
  }

  const auto taken = valid.size() + held.size();  // the place of one that is held is not free
  if (taken < wanted) {
    std::set<std::int32_t> used;
    for (const auto* there : {&valid, &held})
      for (const auto& replica : *there) used.insert(replica.index());
    std::int32_t index = 0;
    const auto most = std::max<std::size_t>(1, static_cast<std::size_t>(seen.most_at_once) / hosts);
    const auto making = std::min(wanted - taken, most);
    for (std::size_t made = 0; made < making; ++made, ++index) {
      while (used.contains(index)) ++index;
      for (std::size_t host = 0; host < hosts; ++host)
        out.create.push_back({.replica_index = index,
                              .host_index = static_cast<std::int32_t>(host),
                              .replica_number = static_cast<std::int32_t>(made),
                              .attempt = attempt});
    }
  } else if (valid.size() > wanted) {
    const auto beyond = static_cast<std::int64_t>(valid.size() - wanted);
    for (const auto& replica : surplus_of(group, seen, std::move(valid), beyond))
      remove(out, replica, "scaling down");
  }
  return out;
}

}  // namespace manta::controllers::raycluster
