#include "ray/validation_deletion.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace manta::ray {
namespace {

constexpr std::string_view kInvalid = "The RayJob spec is invalid: ";

bool selector_mode(const RayJobSpec& spec) { return !spec.clusterSelector.empty(); }

bool needs_own_cluster(std::string_view policy) {
  return policy == "DeleteCluster" || policy == "DeleteWorkers";
}

bool autoscales(const RayJobSpec& spec) {
  return spec.rayClusterSpec && autoscaling_enabled(*spec.rayClusterSpec);
}

Fault check_legacy(const RayJobSpec& spec) {
  const auto& strategy = *spec.deletionStrategy;
  if (!strategy.onSuccess || !strategy.onFailure)
    return "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set when using "
           "the legacy deletion policy fields of DeletionStrategy";
  const auto unset = [](std::string_view side) {
    return fmt::format(
        "the DeletionPolicyType field of DeletionStrategy.{} cannot be unset when DeletionStrategy "
        "is enabled",
        side);
  };
  if (!strategy.onSuccess->policy) return unset("OnSuccess");
  if (!strategy.onFailure->policy) return unset("OnFailure");
  const std::string& success = *strategy.onSuccess->policy;
  const std::string& failure = *strategy.onFailure->policy;
  const auto unsupported = [](std::string_view policy, std::string_view side) {
    return fmt::format("the ClusterSelector mode doesn't support DeletionStrategy={} on {}", policy,
                       side);
  };
  if (selector_mode(spec) && needs_own_cluster(success)) return unsupported(success, "success");
  if (selector_mode(spec) && needs_own_cluster(failure)) return unsupported(failure, "failure");
  if ((success == "DeleteWorkers" || failure == "DeleteWorkers") && autoscales(spec))
    return "DeletionStrategy=DeleteWorkers currently does not support RayCluster with autoscaling "
           "enabled";
  if (spec.shutdownAfterJobFinishes && (success == "DeleteNone" || failure == "DeleteNone"))
    return fmt::format(
        "{}shutdownAfterJobFinshes is set to 'true' while deletion policy is 'DeleteNone'",
        kInvalid);
  return {};
}

/// One of a job's two statuses, as rules name it.
struct Status {
  std::string_view kind;  // JobStatus, JobDeploymentStatus
  std::string value;
  auto operator<=>(const Status&) const = default;
};

Fault check_rule(const DeletionRule& rule, const RayJobSpec& spec) {
  const auto& when = rule.condition;
  if (when.jobStatus && when.jobDeploymentStatus)
    return fmt::format(
        "cannot set both JobStatus and JobDeploymentStatus at the same time: got {} and {}",
        *when.jobStatus, *when.jobDeploymentStatus);
  if (!when.jobStatus && !when.jobDeploymentStatus)
    return "exactly one of JobStatus and JobDeploymentStatus must be set";
  if (when.ttlSeconds < 0)
    return fmt::format("TTLSeconds must be non-negative: got {}", when.ttlSeconds);
  if (selector_mode(spec) && needs_own_cluster(rule.policy))
    return fmt::format("DeletionPolicyType '{}' not supported when ClusterSelector is set",
                       rule.policy);
  if (rule.policy == "DeleteWorkers" && autoscales(spec))
    return "DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled";
  return {};
}

using TtlByPolicy = std::map<std::string, Int32, std::less<>>;

// What goes first must not be told to go last: workers, then their cluster, then the job.
void check_ttl_order(const Status& status, const TtlByPolicy& ttls,
                     std::vector<std::string>& faults) {
  const TtlByPolicy::value_type* previous = nullptr;
  for (const std::string_view policy : {"DeleteWorkers", "DeleteCluster", "DeleteSelf"}) {
    const auto it = ttls.find(policy);
    if (it == ttls.end()) continue;
    if (previous != nullptr && it->second < previous->second)
      faults.push_back(fmt::format("for {} '{}': {} TTL ({}) must be >= {} TTL ({})", status.kind,
                                   status.value, it->first, it->second, previous->first,
                                   previous->second));
    previous = &*it;
  }
}

Fault check_rules(const RayJobSpec& spec) {
  std::vector<std::string> faults;
  // Sorted: JobDeploymentStatus before JobStatus, so told in two passes below.
  std::map<Status, TtlByPolicy> valid;
  const auto& rules = spec.deletionStrategy->deletionRules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& rule = rules[i];
    if (auto fault = check_rule(rule, spec)) {
      faults.push_back(fmt::format("deletionRules[{}]: {}", i, *fault));
      continue;
    }
    const Status status = rule.condition.jobStatus
                              ? Status{"JobStatus", *rule.condition.jobStatus}
                              : Status{"JobDeploymentStatus", *rule.condition.jobDeploymentStatus};
    if (!valid[status].emplace(rule.policy, rule.condition.ttlSeconds).second)
      faults.push_back(
          fmt::format("deletionRules[{}]: duplicate rule for DeletionPolicyType '{}' and {} '{}'",
                      i, rule.policy, status.kind, status.value));
  }
  for (const std::string_view kind : {"JobStatus", "JobDeploymentStatus"})
    for (const auto& [status, ttls] : valid)
      if (status.kind == kind) check_ttl_order(status, ttls, faults);
  if (faults.empty()) return {};
  return fmt::format("{}", fmt::join(faults, "\n"));
}

}  // namespace

Fault check_deletion_strategy(const RayJobSpec& spec, const ValidationGates& gates) {
  if (!spec.deletionStrategy) return {};
  if (!gates.job_deletion_policy)
    return "RayJobDeletionPolicy feature gate must be enabled to use DeletionStrategy";
  const auto& strategy = *spec.deletionStrategy;
  const bool rules = !strategy.deletionRules.empty();
  const bool legacy = strategy.onSuccess || strategy.onFailure;
  if (rules && spec.shutdownAfterJobFinishes)
    return fmt::format(
        "{}spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are mutually "
        "exclusive",
        kInvalid);
  if (rules && legacy)
    return fmt::format(
        "{}Cannot use both legacy onSuccess/onFailure fields and deletionRules simultaneously",
        kInvalid);
  if (legacy) return check_legacy(spec);
  if (rules) return check_rules(spec);
  return fmt::format(
      "{}DeletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field "
      "(cannot be empty)",
      kInvalid);
}

}  // namespace manta::ray
