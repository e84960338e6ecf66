#include "ray/builders/scheduler_metadata.h"

#include "base/text.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/builders/resources.h"
#include "ray/builders/submitter.h"
#include "ray/kube_canonical.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::ray {
namespace {

constexpr std::string_view kVolcanoQueue = "volcano.sh/queue-name";
constexpr std::string_view kYunikornTaskGroups = "yunikorn.apache.org/task-groups";

/// Whom the child belongs to, as the schedulers see it.
struct Parent {
  const kube::ObjectMeta& meta;
  std::string_view kind;
  const RayClusterSpec* cluster = nullptr;
  const RayJob* job = nullptr;
};

/// The child under way. Only Pods and Pod templates have a scheduler to name.
struct Child {
  JsonObject& metadata;
  JsonObject* pod_spec = nullptr;

  void label(std::string_view key, std::string_view value) {
    if (!value.empty()) object_in(metadata, "labels")[key] = value;
  }
  void annotate(std::string_view key, std::string_view value) {
    object_in(metadata, "annotations")[key] = value;
  }
  void schedule_with(std::string_view name) {
    if (pod_spec != nullptr) (*pod_spec)["schedulerName"] = name;
  }
};

Json task_group(const Json& pod_template, std::string_view name, std::int64_t members) {
  JsonObject group{{"minResource", json_of(pod_resources(pod_template))}};
  // Schedulers compare this text, so it is Kubernetes' own order of keys, not the user's.
  const Json spec = kube_canonical(Json(object_at(pod_template, {"spec"})), "PodSpec");
  auto copy = [&](std::string_view key) {
    if (const Json* value = find(spec, {key})) group[key] = *value;
  };
  copy("nodeSelector");
  copy("affinity");
  group["name"] = name;
  copy("tolerations");
  group["minMember"] = members;
  return group;
}

std::string task_groups(const Parent& parent) {
  JsonArray groups;
  if (parent.cluster != nullptr) {
    groups.push_back(task_group(parent.cluster->headGroupSpec.template_, kHeadGroup, 1));
    for (const auto& group : parent.cluster->workerGroupSpecs)
      groups.push_back(
          task_group(group.template_, group.groupName,
                     static_cast<std::int64_t>(group.minReplicas.value_or(0)) * group.numOfHosts));
  }
  if (parent.job != nullptr)
    groups.push_back(task_group(submitter_template(*parent.job, ""), kSubmitterGroup, 1));
  return dump_json(groups, JsonEscape::Html);
}

void add_volcano(Child& child, const Parent& parent, std::string_view group) {
  child.label(kVolcanoQueue, parent.meta.label(kVolcanoQueue));
  child.label(kLabelPriorityClass, parent.meta.label(kLabelPriorityClass));
  child.annotate("scheduling.k8s.io/group-name", volcano_pod_group_name(parent.meta, parent.kind));
  child.annotate("volcano.sh/task-spec", group);
  child.schedule_with("volcano");
}

void add_yunikorn(Child& child, const Parent& parent, std::string_view group) {
  child.label("applicationId", parent.meta.label("yunikorn.apache.org/app-id"));
  child.label("queue", parent.meta.label("yunikorn.apache.org/queue"));
  child.schedule_with("yunikorn");
  if (!asks_for_gang(parent.meta)) return;
  const auto given = parent.meta.annotation(kYunikornTaskGroups);
  if (given.empty() && parent.cluster == nullptr) return;  // a RayJob with a clusterSelector
  child.annotate(kYunikornTaskGroups, given.empty() ? task_groups(parent) : std::string(given));
  if (!group.empty()) child.annotate("yunikorn.apache.org/task-group-name", group);
}

void add_metadata(Child child, const Parent& parent, std::string_view group,
                  BatchScheduler scheduler) {
  switch (scheduler) {
    case BatchScheduler::None:
    case BatchScheduler::KubernetesWas:
      return;  // the latter is about clusters' Pods only
    case BatchScheduler::Volcano:
      return add_volcano(child, parent, group);
    case BatchScheduler::Yunikorn:
      return add_yunikorn(child, parent, group);
    case BatchScheduler::Kai:
      child.label("kai.scheduler/queue", parent.meta.label("kai.scheduler/queue"));
      return child.schedule_with("kai-scheduler");
    case BatchScheduler::SchedulerPlugins:
      if (asks_for_gang(parent.meta))
        child.label("scheduling.x-k8s.io/pod-group", parent.meta.key.name);
      return child.schedule_with("scheduler-plugins-scheduler");
  }
}

Child pod_child(Json& pod) {
  JsonObject& object = pod.as_object();
  object_in(object, "metadata");
  object_in(object, "spec");  // both are there before a reference to either is kept
  return {object_in(object, "metadata"), &object_in(object, "spec")};
}

Parent parent_of(const RayJob& job) {
  const auto& cluster = job.spec.rayClusterSpec;
  return {job.meta, kKindRayJob, cluster ? &*cluster : nullptr, &job};
}

}  // namespace

std::string volcano_pod_group_name(const kube::ObjectMeta& owner, std::string_view kind) {
  std::string_view name = owner.key.name;
  const bool by_job = kind == kKindRayJob || owner.label(kLabelOriginCrd) == kKindRayJob;
  const auto origin = owner.label(kLabelOriginCrName);
  if (by_job && !origin.empty()) name = origin;
  return fmt::format("ray-{}-pg", name);
}

bool asks_for_gang(const kube::ObjectMeta& meta) {
  const auto label = meta.labels.find(kLabelGangScheduling);
  if (label == meta.labels.end()) return false;
  return lower_case(label->second) != "false";
}

bool wants_kubernetes_gang(const RayCluster& cluster) {
  return is_true_text(cluster.meta.label(kLabelGangScheduling)) &&
         !autoscaling_enabled(cluster.spec);
}

void add_scheduler_metadata(Json& pod, const RayCluster& parent, std::string_view group,
                            const BuildOptions& options) {
  if (options.scheduler == BatchScheduler::None) return;
  Child child = pod_child(pod);
  if (options.scheduler == BatchScheduler::KubernetesWas && wants_kubernetes_gang(parent)) {
    child.schedule_with("default-scheduler");
    object_in(*child.pod_spec, "schedulingGroup")["podGroupName"] =
        fmt::format("{}-cluster", parent.meta.key.name);
  }
  add_metadata(child, {parent.meta, kKindRayCluster, &parent.spec}, group, options.scheduler);
}

void add_scheduler_metadata(Json& pod_template, const RayJob& parent, std::string_view group,
                            const BuildOptions& options) {
  if (options.scheduler == BatchScheduler::None) return;
  add_metadata(pod_child(pod_template), parent_of(parent), group, options.scheduler);
}

void add_scheduler_metadata_to_cluster(Json& cluster, const RayJob& parent,
                                       const BuildOptions& options) {
  if (options.scheduler == BatchScheduler::None) return;
  add_metadata({object_in(cluster.as_object(), "metadata")}, parent_of(parent), "",
               options.scheduler);
}

}  // namespace manta::ray
