// RayCluster. The checks' order is observable: only the first fault is told. spec/01 §6.1
#include "ray/labels.h"
#include "ray/name_rules.h"
#include "ray/validation.h"
#include "ray/validation_features.h"
#include "ray/validation_gcs.h"
#include "ray/validation_groups.h"
#include "ray/validation_params.h"

#include <fmt/format.h>

#include <set>

namespace manta::ray {
namespace {

Fault check_spec(const RayClusterSpec& spec, const StringMap& annotations,
                 const ValidationGates& gates) {
  if (auto fault = check_head_group(spec.headGroupSpec)) return fault;
  if (auto fault = check_worker_groups(spec)) return fault;
  if (auto fault = check_gcs_fault_tolerance(spec, annotations, gates)) return fault;
  if (auto fault = check_autoscaler(spec, gates)) return fault;
  if (auto fault = check_history_server(spec, gates)) return fault;
  if (auto fault = check_auth(spec)) return fault;
  if (auto fault = check_network_policy(spec, gates)) return fault;
  if (auto fault = check_tls(spec, gates)) return fault;
  return gates.strict_start_params ? check_start_params(spec) : Fault();
}

}  // namespace

Result<void> validate_cluster_metadata(const kube::ObjectMeta& meta) {
  const auto& name = meta.key.name;
  if (name.size() > kMaxRayClusterName)
    return failed(ErrorCode::Invalid,
                  fmt::format("RayCluster name should be no more than {} characters: got {}",
                              kMaxRayClusterName, name.size()));
  if (const auto faults = dns1035_label_faults(name); !faults.empty())
    return failed(ErrorCode::Invalid,
                  "RayCluster name should be a valid DNS1035 label: " + go_list(faults));
  return {};
}

Result<void> validate_cluster_spec(const RayClusterSpec& spec, const StringMap& annotations,
                                   const ValidationGates& gates) {
  return to_result(check_spec(spec, annotations, gates));
}

Result<void> validate_cluster_upgrade(const RayClusterSpec& spec, const StringMap& labels) {
  if (!spec.upgradeStrategy || !spec.upgradeStrategy->type) return {};
  const auto& type = *spec.upgradeStrategy->type;
  if (type != "Recreate" && type != "None")
    return failed(ErrorCode::Invalid,
                  fmt::format("The RayCluster spec is invalid: Spec.UpgradeStrategy.Type value {} "
                              "is invalid, valid options are Recreate or None",
                              type));
  const auto creator = labels.find(kLabelOriginCrd);
  if (creator != labels.end() &&
      (creator->second == kKindRayJob || creator->second == kKindRayService))
    return failed(ErrorCode::Invalid,
                  "upgradeStrategy cannot be set when RayCluster is created by " + creator->second);
  return {};
}

Result<void> validate_cluster_status(const RayClusterStatus& status) {
  if (condition_is_true(status.conditions, "RayClusterSuspending") &&
      condition_is_true(status.conditions, "RayClusterSuspended"))
    return failed(ErrorCode::Invalid,
                  "invalid RayCluster State: rayv1.RayClusterSuspending and "
                  "rayv1.RayClusterSuspended conditions should not be both true");
  return {};
}

std::optional<std::string> autoscaler_v1_warning(const RayClusterSpec& spec) {
  if (!autoscaling_enabled(spec) || !spec.autoscalerOptions ||
      spec.autoscalerOptions->version != "v1")
    return {};
  std::vector<std::string_view> groups;
  for (const auto& group : spec.workerGroupSpecs)
    if (restarts(group.template_)) groups.push_back(group.groupName);
  if (groups.empty()) return {};
  return fmt::format(
      "restartPolicy for worker groups [{}] should be Never or unset when using autoscaler V1",
      fmt::join(groups, ", "));
}

std::optional<std::string> worker_group_name_fault(const RayClusterSpec& spec,
                                                   std::string_view path) {
  const auto at = [&](std::size_t i, std::string_view what) {
    return fmt::format("{}.workerGroupSpecs[{}].groupName: {}", path, i, what);
  };
  const auto& groups = spec.workerGroupSpecs;
  if (const auto i = duplicate_worker_group(spec))
    return at(*i, fmt::format("worker group names must be unique, {} is there twice",
                              groups[*i].groupName));
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].groupName == kHeadGroup)
      return at(i, fmt::format("{} is the head's group", kHeadGroup));
  return {};
}

std::optional<std::size_t> duplicate_worker_group(const RayClusterSpec& spec) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < spec.workerGroupSpecs.size(); ++i)
    if (!seen.insert(spec.workerGroupSpecs[i].groupName).second) return i;
  return {};
}

}  // namespace manta::ray
