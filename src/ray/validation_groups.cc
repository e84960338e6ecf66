#include "ray/validation_groups.h"

#include "ray/labels.h"
#include "ray/name_rules.h"
#include "ray/ray_version.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

constexpr std::int32_t kMostHosts = 10'000;  // the largest slices there are have some thousands

bool has_param(const Opt<StringMap>& params, std::string_view key) {
  return params && params->contains(key);
}

bool has_value(const Opt<StringMap>& params, std::string_view key) {
  if (!params) return false;
  const auto it = params->find(key);
  return it != params->end() && !it->second.empty();
}

/// `group`: "Head group", "<name> group".
Fault check_resources(const Opt<StringMap>& params, const StringMap& resources,
                      const std::string& group) {
  if (resources.empty()) return {};
  for (const auto key : {kParamNumCpus, kParamNumGpus, kParamMemory, kParamResources})
    if (has_value(params, key))
      return fmt::format(
          "resource fields should not be set in both rayStartParams and Resources for {}; please "
          "use only one: rayStartParams has {}, Resources has {}",
          group, key, resources.begin()->first);
  return {};
}

/// `group`: "Head", or the worker group's name.
Fault check_labels(const Opt<StringMap>& params, const StringMap& labels, std::string_view group) {
  if (has_param(params, kParamLabels))
    return fmt::format(
        "rayStartParams['labels'] is not supported for {} group; please use the top-level Labels "
        "field instead",
        group);
  std::vector<std::string> faults;
  for (const auto& [key, value] : labels) {
    for (const auto& fault : label_key_faults(key))
      faults.push_back(
          fmt::format("invalid label key for {} group: '{}', error: {}", group, key, fault));
    for (const auto& fault : label_value_faults(value))
      faults.push_back(fmt::format("invalid label value for key '{}' in {} group: '{}', error: {}",
                                   key, group, value, fault));
  }
  if (faults.empty()) return {};
  return fmt::format("{}", fmt::join(faults, "; "));
}

Fault check_replicas(const WorkerGroupSpec& group, bool autoscaling) {
  const auto& [min, max] = std::pair(group.minReplicas, group.maxReplicas);
  if (!autoscaling && (!min || !max))
    return fmt::format(
        "worker group {} must set both minReplicas and maxReplicas when autoscaling is disabled",
        group.groupName);
  if (min && *min < 0)
    return fmt::format("worker group {} has negative minReplicas {}", group.groupName, *min);
  if (max && *max < 0)
    return fmt::format("worker group {} has negative maxReplicas {}", group.groupName, *max);
  if (min && max && *min > *max)
    return fmt::format("worker group {} has minReplicas {} greater than maxReplicas {}",
                       group.groupName, *min, *max);
  // A replica is made whole or not at all, so its Pods stand in memory together.
  if (group.numOfHosts > kMostHosts)
    return fmt::format("worker group {} has numOfHosts {}, which must be {} at most",
                       group.groupName, group.numOfHosts, kMostHosts);
  return {};
}

bool autoscaler_v2(const RayClusterSpec& spec) {
  if (spec.autoscalerOptions && spec.autoscalerOptions->version == "v2") return true;
  const Json* env = ray_env(spec.headGroupSpec.template_, kEnvEnableAutoscalerV2);
  if (env == nullptr) return false;
  const auto value = string_at(*env, {"value"});
  return value == "1" || value == "true";
}

Fault check_idle_timeout(const WorkerGroupSpec& group, const RayClusterSpec& spec) {
  if (!group.idleTimeoutSeconds) return {};
  if (*group.idleTimeoutSeconds < 0)
    return fmt::format("worker group {}: idleTimeoutSeconds must be non-negative, got {}",
                       group.groupName, *group.idleTimeoutSeconds);
  if (autoscaler_v2(spec)) return {};
  return fmt::format(
      "worker group {}: idleTimeoutSeconds is set, but autoscaler v2 is not enabled. Please set "
      ".spec.autoscalerOptions.version to 'v2' (or set RAY_enable_autoscaler_v2 environment "
      "variable to 'true' in the head pod if using KubeRay < 1.4.0)",
      group.groupName);
}

Fault check_priority(const WorkerGroupSpec& group, const RayClusterSpec& spec) {
  if (group.priority.value_or(0) == 0) return {};
  if (spec.rayVersion.empty())
    return fmt::format(
        "worker group {}: priority is set, but RayVersion was not specified. Ray version 2.56.0 or "
        "later is required",
        group.groupName);
  const auto version = parse_ray_version(spec.rayVersion);
  if (!version)
    return fmt::format("worker group {}: priority is set, but RayVersion format is invalid: {}, {}",
                       group.groupName, spec.rayVersion, version.error().message);
  if (*version < RayVersion{{2, 56, 0}})
    return fmt::format(
        "worker group {}: priority is set, but minimum Ray version is 2.56.0, got {}",
        group.groupName, spec.rayVersion);
  if (autoscaler_v2(spec)) return {};
  return fmt::format(
      "worker group {}: priority is set to {}, but autoscaler v2 is not enabled. Priority is only "
      "supported with autoscaler v2 enabled",
      group.groupName, *group.priority);
}

Fault check_worker_group(const WorkerGroupSpec& group, const RayClusterSpec& spec) {
  if (containers_of(group.template_).empty())
    return "workerGroupSpec should have at least one container: " + group.groupName + " has none";
  if (auto fault = check_replicas(group, autoscaling_enabled(spec))) return fault;
  if (auto fault =
          check_resources(group.rayStartParams, group.resources, group.groupName + " group"))
    return fault;
  if (auto fault = check_labels(group.rayStartParams, group.labels, group.groupName)) return fault;
  if (auto fault = check_idle_timeout(group, spec)) return fault;
  return check_priority(group, spec);
}

}  // namespace

Fault check_head_group(const HeadGroupSpec& head) {
  if (containers_of(head.template_).empty())
    return "headGroupSpec should have at least one container";
  if (auto fault = check_resources(head.rayStartParams, head.resources, "Head group")) return fault;
  return check_labels(head.rayStartParams, head.labels, "Head");
}

Fault check_worker_groups(const RayClusterSpec& spec) {
  for (const auto& group : spec.workerGroupSpecs)
    if (auto fault = check_worker_group(group, spec)) return fault;
  return {};
}

}  // namespace manta::ray
