#include "sim/end_judge.h"

#include "ray/builders/resources.h"
#include "ray/labels.h"
#include "ray/spec_hash.h"
#include "ray/types.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::sim {
namespace {

std::int64_t ready_in(const World& world, const ray::RayCluster& cluster, std::string_view group) {
  std::int64_t ready = 0;
  for (const auto& name : world.workers(cluster.meta.key.name, group))
    ready += condition_of(world.get("Pod", name), "Ready").starts_with("True");
  return ready;
}

class Judgement {
 public:
  Judgement(const World& world, const Json& object, std::vector<std::string>& broken)
      : world_(world),
        object_(object),
        cluster_(*ray::parse_ray_cluster(object)),
        broken_(broken) {}

  void judge() {
    if (cluster_.meta.deleting) return complain("does not go");
    const auto state = string_at(object_, {"status", "state"});
    if (cluster_.spec.suspend.value_or(false)) {
      if (state != "suspended") complain(fmt::format("is {} and should be suspended", state));
      if (!pods().empty()) complain("is suspended and has Pods");
      return;
    }
    if (state != "ready") complain(fmt::format("is {} and should be ready", state));
    const auto head = world_.head(name());
    if (head.empty()) complain("has no head");
    const auto& strategy = cluster_.spec.upgradeStrategy;
    if (strategy && strategy->type == "Recreate" &&
        string_at(world_.get("Pod", head),
                  {"metadata", "annotations", ray::kAnnotationRecreateHash}) !=
            ray::recreate_hash(cluster_.spec))
      complain("has a head of an older spec");
    judge_groups();
  }

 private:
  void judge_groups() {
    std::int64_t all = 0;
    for (const auto& group : cluster_.spec.workerGroupSpecs) {
      const auto wanted = group.suspend.value_or(false) ? 0 : ray::desired_pods(group);
      const auto live = static_cast<std::int64_t>(world_.workers(name(), group.groupName).size());
      all += ready_in(world_, cluster_, group.groupName);
      if (live != wanted)
        complain(fmt::format("has {} live workers in group {} and should have {}", live,
                             group.groupName, wanted));
    }
    if (const auto told = int_at(object_, {"status", "readyWorkerReplicas"}); told != all)
      complain(fmt::format("has {} ready workers and tells of {}", all, told));
  }

  Mirror::Objects pods() const {
    return world_.mirror().list("Pod", {{std::string(ray::kLabelCluster), name()}});
  }
  const std::string& name() const { return cluster_.meta.key.name; }
  void complain(const std::string& what) {
    broken_.push_back(fmt::format("at the end RayCluster {} {}", name(), what));
  }

  const World& world_;
  const Json& object_;
  ray::RayCluster cluster_;
  std::vector<std::string>& broken_;
};

/// It looks the same whichever way it came about. Not so of a RayService that may keep the cluster
/// of an older spec, or come back to it.
bool is_sure(const Json& object) {
  const auto kind = string_at(object, {"kind"});
  const auto type = string_at(object, {"spec", "upgradeStrategy", "type"}, "NewCluster");
  return kind == "RayCluster" || (kind == "RayService" && type == "NewCluster");
}

bool is_of_something_sure(const World& world, const Json& object) {
  const auto* owner = controller_of(object);
  if (!owner) return is_sure(object);
  const auto* parent = world.mirror().by_uid(string_at(*owner, {"uid"}));
  return parent && is_of_something_sure(world, *parent);
}

JsonObject* object_in(Json& object, std::initializer_list<std::string_view> path) {
  if (!find(object, path)) return nullptr;
  return ensure(object, path).if_object();
}

/// An edit reaches a head only when it is made anew, and with faults that comes earlier or later.
bool keeps_old_spec(const World& world, const Json& pod) {
  if (label_of(pod, ray::kLabelNodeType) != ray::kNodeTypeHead) return false;
  const auto& cluster = world.get("RayCluster", label_of(pod, ray::kLabelCluster));
  return string_at(cluster, {"spec", "upgradeStrategy", "type"}) != "Recreate";
}

/// Which numbers were free when a worker was made, what befell a Pod's containers, and in which
/// states a cluster has been.
void drop_history(Json& object) {
  if (auto* labels = object_in(object, {"metadata", "labels"}))
    for (const auto label : {ray::kLabelReplicaIndex, ray::kLabelHostIndex}) labels->erase(label);
  if (string_at(object, {"kind"}) == "Pod") object.as_object().erase("status");
  if (auto* metadata = object_in(object, {"metadata"})) metadata->erase("generation");
  // Those after the first ride along with the next write. Source: spec/02 §6.5.
  if (auto* status = object_in(object, {"status"}))
    for (const auto* field : {"stateTransitionTimes", "observedGeneration", "desiredCPU",
                              "desiredMemory", "desiredGPU", "desiredTPU"})
      status->erase(field);
  // A RayService that was suspended for a moment has the conditions of that, if it was seen at all.
  if (string_at(object, {"kind"}) == "RayService")
    if (auto* status = object_in(object, {"status"})) status->erase("conditions");
  // A copy that may be old. Source: spec/05 §9.6.
  for (const auto* side : {"activeServiceStatus", "pendingServiceStatus"})
    if (auto* of_cluster = object_in(object, {"status", side}))
      of_cluster->erase("rayClusterStatus");
}

}  // namespace

void judge_clusters_at_the_end(const World& world, std::vector<std::string>& broken) {
  for (const auto* cluster : world.mirror().list("RayCluster"))
    if (!controller_of(*cluster)) Judgement(world, *cluster, broken).judge();
  for (const auto* pod : world.mirror().list("Pod")) {
    const auto cluster = label_of(*pod, ray::kLabelCluster);
    if (!cluster.empty() && !world.mirror().find("RayCluster", cluster))
      broken.push_back(fmt::format("Pod {} has outlived RayCluster {}", name_of(*pod), cluster));
  }
}

std::vector<std::string> picture_of_clusters(const World& world) {
  return world.picture([&](Json& object) {
    // Whom the autoscaler named is history, too.
    if (bool_at(object, {"spec", "enableInTreeAutoscaling"})) return false;
    if (string_at(object, {"kind"}) == "EndpointSlice") return false;  // not the operator's
    if (!is_of_something_sure(world, object)) return false;
    if (string_at(object, {"kind"}) == "Pod" && keeps_old_spec(world, object))
      for (auto& container : ensure(object, {"spec", "containers"}).as_array())
        container.as_object().erase("image");  // the autoscaler's is Ray's, too
    drop_history(object);
    return true;
  });
}

}  // namespace manta::sim
