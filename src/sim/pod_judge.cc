#include "sim/pod_judge.h"

#include "base/text.h"
#include "ray/builders/resources.h"
#include "ray/labels.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::sim {
namespace {

std::int64_t wanted_in(const ray::RayCluster& cluster, std::string_view name) {
  if (cluster.spec.suspend.value_or(false)) return 0;
  for (const auto& group : cluster.spec.workerGroupSpecs)
    if (group.groupName == name) return ray::desired_pods(group);
  return 0;
}

const ray::WorkerGroupSpec* group_of(const ray::RayCluster& cluster, std::string_view name) {
  for (const auto& group : cluster.spec.workerGroupSpecs)
    if (group.groupName == name) return &group;
  return nullptr;
}

std::string_view owner_uid(const Json& object) {
  const auto* owner = controller_of(object);
  return owner ? string_at(*owner, {"uid"}) : std::string_view();
}

bool has_ended(const Json& pod) {
  const auto phase = phase_of(pod);
  if (phase == "Failed" || phase == "Succeeded") return true;
  if (string_at(pod, {"spec", "restartPolicy"}) != "Never") return false;
  return std::ranges::any_of(
      array_at(pod, {"status", "containerStatuses"}),
      [](const Json& status) { return find(status, {"state", "terminated"}) != nullptr; });
}

std::string_view image_of(const Json& pod) {
  const auto& containers = array_at(pod, {"spec", "containers"});
  return containers.empty() ? std::string_view() : string_at(containers.front(), {"image"});
}

bool names(const ray::RayCluster& cluster, std::string_view pod) {
  return std::ranges::any_of(cluster.spec.workerGroupSpecs, [&](const auto& group) {
    const auto& named = group.scaleStrategy.workersToDelete;
    return std::ranges::find(named, pod) != named.end();
  });
}

}  // namespace

PodJudge::PodJudge(World& world, Duration slack, std::vector<std::string>& broken)
    : world_(world), slack_(slack), broken_(broken) {
  world.mirror().listen([this](const Change& change) { at_commit(change); });
}

bool PodJudge::recent(std::optional<Time> at) const {
  return at && world_.loop().now() - *at <= slack_;
}

std::vector<const ray::RayCluster*> PodJudge::recent_versions(const Cluster& cluster) const {
  std::vector<const ray::RayCluster*> found;
  for (const auto& version : cluster.versions)
    if (!version.replaced || recent(version.replaced)) found.push_back(&version.cluster);
  return found;
}

void PodJudge::at_commit(const Change& change) {
  const auto kind = string_at(change.newest(), {"kind"});
  if (kind == "RayCluster") see_cluster(change);
  if (kind == "Pod") see_pod(change);
}

void PodJudge::see_cluster(const Change& change) {
  auto& cluster = clusters_[uid_of(change.newest())];
  cluster.gone = change.after.is_null() || is_deleting(change.after);
  const bool same = !change.before.is_null() && !change.after.is_null() &&
                    int_at(change.before, {"metadata", "generation"}) ==
                        int_at(change.after, {"metadata", "generation"});
  if (same || change.after.is_null()) return;
  auto parsed = ray::parse_ray_cluster(change.after);
  MANTA_CHECK(parsed.has_value());
  if (!cluster.versions.empty()) cluster.versions.back().replaced = world_.loop().now();
  cluster.versions.push_back({.cluster = std::move(*parsed)});
  look_for_surplus(uid_of(change.after));
}

void PodJudge::see_pod(const Change& change) {
  const auto uid = std::string(owner_uid(change.newest()));
  const auto found = clusters_.find(uid);
  if (found == clusters_.end()) return;
  const bool lives = !change.after.is_null() && is_live(change.after) && !has_ended(change.after);
  if (!lives)
    found->second.groups[label_of(change.newest(), ray::kLabelGroup)].lost = world_.loop().now();
  if (lives && change.before.is_null()) judge_creation(change.after);
  look_for_surplus(uid);
}

std::int64_t PodJudge::live_in(const std::string& cluster, std::string_view group,
                               std::string_view owner) const {
  std::int64_t live = 0;
  for (const auto* pod :
       world_.mirror().list("Pod", {{std::string(ray::kLabelCluster), cluster},
                                    {std::string(ray::kLabelGroup), std::string(group)}}))
    live += owner_uid(*pod) == owner && is_live(*pod);
  return live;
}

void PodJudge::look_for_surplus(const std::string& uid) {
  auto& cluster = clusters_.at(uid);
  if (cluster.versions.empty()) return;
  const auto& newest = cluster.versions.back().cluster;
  for (const auto& group : newest.spec.workerGroupSpecs)
    if (live_in(newest.meta.key.name, group.groupName, uid) > wanted_in(newest, group.groupName))
      cluster.groups[group.groupName].surplus = world_.loop().now();
}

// Multi-host replicas are replaced as a whole, the new one while the old one goes, and so is what
// the autoscaler named: only what is left of a group counts.
void PodJudge::judge_creation(const Json& pod) {
  const auto group = label_of(pod, ray::kLabelGroup);
  if (label_of(pod, ray::kLabelNodeType) == ray::kNodeTypeHead) return judge_head(pod);
  if (label_of(pod, ray::kLabelNodeType) != ray::kNodeTypeWorker) return;
  const auto uid = std::string(owner_uid(pod));
  const auto& cluster = clusters_.at(uid);
  const auto& name = cluster.versions.back().cluster.meta.key.name;
  std::int64_t most = 0;
  std::int64_t named = 0;
  for (const auto* version : recent_versions(cluster)) {
    const auto* spec = group_of(*version, group);
    if (spec && spec->numOfHosts > 1) return;
    most = std::max(most, wanted_in(*version, group));
    if (spec)
      named =
          std::max(named, static_cast<std::int64_t>(spec->scaleStrategy.workersToDelete.size()));
  }
  const auto live = live_in(name, group, uid);
  if (live > most + named)
    broken_.push_back(
        fmt::format("Pod {} was made as number {} of group {} of RayCluster {}, which "
                    "wants {}",
                    name_of(pod), live, group, name, most));
}

void PodJudge::judge_head(const Json& pod) {
  const auto versions = recent_versions(clusters_.at(std::string(owner_uid(pod))));
  if (std::ranges::none_of(versions, [&](const auto* version) {
        return image_of(version->spec.headGroupSpec.template_) == image_of(pod);
      }))
    broken_.push_back(fmt::format("head {} was made with image {}, which its cluster does not want",
                                  name_of(pod), image_of(pod)));
}

void PodJudge::hear(const kube::Request& request) {
  if (request.resource.plural != "pods") return;
  if (request.verb == kube::Verb::DeleteCollection) judge_collection(request);
  if (request.verb != kube::Verb::Delete) return;
  const auto* pod = world_.mirror().find("Pod", request.name);
  if (!pod || uid_of(*pod) != request.precondition_uid || is_deleting(*pod)) return;
  judge_deletion(*pod);
}

void PodJudge::judge_deletion(const Json& pod) {
  if (has_ended(pod)) return;
  const auto cluster = clusters_.find(std::string(owner_uid(pod)));
  if (cluster != clusters_.end() && may_go(pod, cluster->second)) return;
  broken_.push_back(
      fmt::format("the operator deletes Pod {}, and nobody asked it to", name_of(pod)));
}

bool PodJudge::may_go(const Json& pod, const Cluster& cluster) const {
  const auto group = label_of(pod, ray::kLabelGroup);
  const auto& name = cluster.versions.back().cluster.meta.key.name;
  if (cluster.gone || all_may_go(cluster, name, group)) return true;
  const auto seen = cluster.groups.find(group);
  for (const auto* version : recent_versions(cluster)) {
    if (names(*version, name_of(pod))) return true;
    const auto* spec = group_of(*version, group);
    if (!spec || spec->numOfHosts <= 1) continue;
    if (seen != cluster.groups.end() && recent(seen->second.lost)) return true;
    // A Pod of its replica was never made, or has gone.
    const auto replica = label_of(pod, ray::kLabelReplicaName);
    const auto mates =
        world_.mirror().list("Pod", {{std::string(ray::kLabelReplicaName), replica}});
    if (static_cast<std::int64_t>(mates.size()) < spec->numOfHosts) return true;
    // Or was made so lately that the operator may not know of it.
    if (std::ranges::any_of(mates, [&](const Json* mate) {
          return recent(*parse_rfc3339(string_at(*mate, {"metadata", "creationTimestamp"})));
        }))
      return true;
  }
  return seen != cluster.groups.end() && recent(seen->second.surplus);
}

bool PodJudge::all_may_go(const Cluster& cluster, std::string_view name,
                          std::string_view group) const {
  const auto* stored = world_.mirror().find("RayCluster", name);
  if (cluster.gone || !stored) return true;
  if (condition_of(*stored, "RayClusterSuspending").starts_with("True")) return true;
  const auto head = world_.head(name);
  const auto hash =
      string_at(world_.get("Pod", head), {"metadata", "annotations", ray::kAnnotationRecreateHash});
  for (const auto* version : recent_versions(cluster)) {
    if (version->spec.suspend.value_or(false)) return true;
    const auto* spec = group_of(*version, group);
    if (spec && spec->suspend.value_or(false)) return true;
    const auto& strategy = version->spec.upgradeStrategy;
    if (strategy && strategy->type == "Recreate" && ray::recreate_hash(version->spec) != hash)
      return true;
  }
  return false;
}

void PodJudge::judge_collection(const kube::Request& request) {
  std::string name, group;
  for (const auto& term : split(request.label_selector, ',')) {
    const auto equals = term.find('=');
    if (equals == std::string::npos) continue;
    const auto label = term.substr(0, equals);
    if (label == ray::kLabelCluster) name = term.substr(equals + 1);
    if (label == ray::kLabelGroup) group = term.substr(equals + 1);
  }
  for (const auto& [uid, cluster] : clusters_) {
    if (cluster.versions.empty() || cluster.versions.back().cluster.meta.key.name != name) continue;
    if (cluster.gone || all_may_go(cluster, name, group)) return;
  }
  broken_.push_back(fmt::format("the operator deletes all Pods with {}, and nobody asked it to",
                                request.label_selector));
}

}  // namespace manta::sim
