#include "ray/builders/resources.h"

#include "ray/builders/edit.h"
#include "ray/builders/start_params.h"

#include <algorithm>
#include <limits>

namespace manta::ray {
namespace {

std::int32_t saturate(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

// Sums cannot overflow 64 bits: each term is below 2^62, so it is clamped before it is added.
template <class PodsOf>
std::int32_t sum_groups(const RayClusterSpec& spec, PodsOf pods_of) {
  std::int64_t sum = 0;
  for (const auto& group : spec.workerGroupSpecs)
    if (!is_true(group.suspend)) sum = saturate(sum + pods_of(group));
  return saturate(sum);
}

template <class ReplicasOf>
ResourceList sum_resources(const RayClusterSpec& spec, ReplicasOf replicas_of,
                           ResourceList (*pod_resources)(const Json&) = ray::pod_resources) {
  ResourceList total = pod_resources(spec.headGroupSpec.template_);
  for (const auto& group : spec.workerGroupSpecs) {
    if (is_true(group.suspend)) continue;
    const std::int64_t pods = static_cast<std::int64_t>(replicas_of(group)) * group.numOfHosts;
    add_resources(total, pod_resources(group.template_), pods);
  }
  return total;
}

void add_missing(ResourceList& list, const JsonObject& amounts) {
  for (const auto& [name, value] : amounts)
    if (auto quantity = Quantity::parse(quantity_text(value))) list.emplace(name, *quantity);
}

ResourceList container_resources(const Json& container) {
  ResourceList one;
  if (!container.is_object()) return one;
  const JsonObject& resources = object_of(container.get_object(), "resources");
  add_missing(one, object_of(resources, "requests"));
  add_missing(one, object_of(resources, "limits"));
  return one;
}

void raise(ResourceList& list, const ResourceList& at_least) {
  for (const auto& [name, amount] : at_least)
    if (const auto [entry, added] = list.emplace(name, amount); !added && entry->second < amount)
      entry->second = amount;
}

}  // namespace

std::int32_t desired_replicas(const WorkerGroupSpec& group) {
  if (is_true(group.suspend)) return 0;
  const std::int32_t min = group.minReplicas.value_or(0);
  const std::int32_t max = group.maxReplicas.value_or(std::numeric_limits<std::int32_t>::max());
  if (!group.replicas || *group.replicas < min) return min;
  return std::min(*group.replicas, max);
}

std::int32_t desired_pods(const WorkerGroupSpec& group) {
  return saturate(static_cast<std::int64_t>(desired_replicas(group)) * group.numOfHosts);
}

std::int64_t min_pods(const WorkerGroupSpec& group) {
  if (is_true(group.suspend)) return 0;
  return static_cast<std::int64_t>(group.minReplicas.value_or(0)) * group.numOfHosts;
}

std::int64_t max_pods(const WorkerGroupSpec& group) {
  return std::int64_t{group.maxReplicas.value_or(std::numeric_limits<std::int32_t>::max())} *
         group.numOfHosts;
}

std::int32_t desired_worker_pods(const RayClusterSpec& spec) {
  return sum_groups(
      spec, [](const WorkerGroupSpec& group) -> std::int64_t { return desired_pods(group); });
}

std::int32_t min_worker_pods(const RayClusterSpec& spec) { return sum_groups(spec, min_pods); }

std::int32_t max_worker_pods(const RayClusterSpec& spec) { return sum_groups(spec, max_pods); }

ResourceList pod_resources(const Json& pod_template) {
  ResourceList total;
  for (const Json& container : array_of(object_at(pod_template, {"spec"}), "containers"))
    add_resources(total, container_resources(container));
  return total;
}

ResourceList scheduled_pod_resources(const Json& pod_template) {
  const JsonObject& spec = object_at(pod_template, {"spec"});
  ResourceList sidecars;
  ResourceList most;
  for (const Json& init : array_of(spec, "initContainers")) {
    const auto own = container_resources(init);
    if (string_at(init, {"restartPolicy"}) == "Always") {
      add_resources(sidecars, own);
      continue;
    }
    ResourceList moment = sidecars;
    add_resources(moment, own);
    raise(most, moment);
  }
  ResourceList running = pod_resources(pod_template);
  add_resources(running, sidecars);
  raise(most, running);
  ResourceList overhead;
  add_missing(overhead, object_of(spec, "overhead"));
  add_resources(most, overhead);
  return most;
}

ResourceList scheduled_resources(const RayClusterSpec& spec) {
  return sum_resources(
      spec, [](const auto& group) { return desired_replicas(group); }, scheduled_pod_resources);
}

ResourceList desired_resources(const RayClusterSpec& spec) {
  // KubeRay multiplies by `replicas` as written, whatever the limits; but nobody wants less than no
  // Pod. SEEN-05
  return sum_resources(spec, [](const auto& group) {
    const std::int32_t written = group.replicas.value_or(0);
    return written < 0 ? desired_replicas(group) : written;
  });
}

void add_resources(ResourceList& total, const ResourceList& part, std::int64_t times) {
  for (const auto& [name, amount] : part) total[name] += amount * times;
}

Quantity amount_of(const ResourceList& list, std::string_view name) {
  const auto it = list.find(name);
  return it == list.end() ? Quantity() : it->second;
}

Quantity gpus_of(const ResourceList& list) {
  Quantity sum;
  for (const auto& [name, amount] : list)
    if (is_gpu_resource(name)) sum += amount;
  return sum;
}

Json json_of(const ResourceList& list) {
  JsonObject object;
  for (const auto& [name, amount] : list) object[name] = amount.to_string();
  return object;
}

}  // namespace manta::ray
