// RayJob. spec/01 §6.2
#include "base/excerpt.h"
#include "ray/labels.h"
#include "ray/name_rules.h"
#include "ray/runtime_env.h"
#include "ray/validation.h"
#include "ray/validation_deletion.h"
#include "ray/validation_pod.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

constexpr std::size_t kLongestText = 256;  // of a runtime environment in an error
constexpr std::size_t kLongestKey = 128;

std::string invalid(std::string_view what) {
  return fmt::format("The RayJob spec is invalid: {}", what);
}

bool has_rules(const RayJobSpec& spec) {
  return spec.deletionStrategy && !spec.deletionStrategy->deletionRules.empty();
}

Fault check_shutdown(const RayJobSpec& spec, const ValidationGates& gates) {
  // SEEN-36: rules say as well as shutdownAfterJobFinishes that the cluster is not to be kept.
  const bool rules_do = gates.suspend_with_rules && has_rules(spec);
  const bool selector_does = gates.selector_suspend && !spec.clusterSelector.empty();  // RJ-25
  if (spec.suspend && !spec.shutdownAfterJobFinishes && !rules_do && !selector_does)
    return invalid(
        "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended");
  if (spec.ttlSecondsAfterFinished < 0)
    return invalid(fmt::format("TTLSecondsAfterFinished must be a non-negative integer: got {}",
                               spec.ttlSecondsAfterFinished));
  if (!spec.shutdownAfterJobFinishes && spec.ttlSecondsAfterFinished > 0)
    return invalid(
        fmt::format("a RayJob with shutdownAfterJobFinishes set to false cannot have "
                    "TTLSecondsAfterFinished: got {}; 0 is allowed",
                    spec.ttlSecondsAfterFinished));
  return {};
}

Fault check_cluster_choice(const RayJobSpec& spec, const ValidationGates& gates) {
  const bool selector = !spec.clusterSelector.empty();
  const bool retries = spec.backoffLimit.value_or(0) > 0;
  const auto got = fmt::format(": got {}; 0 is allowed", spec.backoffLimit.value_or(0));
  if (spec.suspend && selector && !gates.selector_suspend)
    return invalid("the ClusterSelector mode doesn't support the suspend operation");
  if (!spec.rayClusterSpec && !selector)
    return invalid("one of RayClusterSpec or ClusterSelector must be set");
  if (selector) {
    const auto name = spec.clusterSelector.find(kLabelCluster);
    if (name == spec.clusterSelector.end() || name->second.empty())
      return fmt::format(
          "cluster name in ClusterSelector should not be empty: its key must be {}, and there {}",
          kLabelCluster,
          name == spec.clusterSelector.end()
              ? "is only " + excerpt(spec.clusterSelector.begin()->first, kLongestKey)
              : "its value is empty");
    if (spec.submissionMode == "SidecarMode")
      return "ClusterSelector is not supported in SidecarMode";
    if (retries) return invalid("BackoffLimit is incompatible with ClusterSelector mode" + got);
  }
  if (spec.submissionMode == "InteractiveMode" && retries)
    return invalid("BackoffLimit is incompatible with InteractiveMode" + got);
  return {};
}

Fault check_sidecar(const RayJobSpec& spec, const ValidationGates& gates) {
  if (spec.submissionMode != "SidecarMode") return {};
  if (!spec.submitterPodTemplate.is_null())
    return "Currently, SidecarMode doesn't support SubmitterPodTemplate";
  // RJ-35: its limit bounds the restarts that the gate brings.
  if (spec.submitterConfig && !gates.sidecar_submitter_restart)
    return "Currently, SidecarMode doesn't support SubmitterConfig";
  if (spec.rayClusterSpec && restarts(spec.rayClusterSpec->headGroupSpec.template_))
    return "restartPolicy for head Pod should be Never or unset when using SidecarMode" +
           got_restart_policy(spec.rayClusterSpec->headGroupSpec.template_);
  return {};
}

// What the RayCluster controller would refuse later, when nobody looks. SEEN-04, SEEN-35, SEEN-38
Fault check_cluster_fits(const RayClusterSpec& cluster) {
  if (cluster.upgradeStrategy && cluster.upgradeStrategy->type)
    return invalid(
        "spec.rayClusterSpec.upgradeStrategy.type cannot be set: the cluster of a RayJob is not "
        "upgraded");
  if (const auto fault = worker_group_name_fault(cluster, "spec.rayClusterSpec"))
    return invalid(*fault);
  return {};
}

Fault check_cluster(const RayJobSpec& spec, const StringMap& annotations,
                    const ValidationGates& gates) {
  if (!spec.rayClusterSpec) return {};
  if (spec.rayClusterSpec->authOptions &&
      is_true(spec.rayClusterSpec->authOptions->enableK8sTokenAuth))
    return invalid(
        "K8s token auth mode is currently not supported for RayJob: "
        "rayClusterSpec.authOptions.enableK8sTokenAuth is true");
  if (auto ok = validate_cluster_spec(*spec.rayClusterSpec, annotations, gates); !ok)
    return invalid(ok.error().message);
  return check_cluster_fits(*spec.rayClusterSpec);
}

// Only a mapping, or nothing, is a runtime environment; what it says is for Ray to judge.
Fault check_runtime_env(const std::string& text) {
  const auto env = parse_runtime_env(text);
  if (env) return {};
  return fmt::format("failed to unmarshal RuntimeEnvYAML: {}: {}", excerpt(text, kLongestText),
                     env.error().message);
}

Fault check_deadlines(const RayJobSpec& spec) {
  const auto must_be_positive = [](std::string_view field, Int32 value,
                                   std::string_view more = "") {
    return invalid(fmt::format("{} must be a positive integer: got {}{}", field, value, more));
  };
  if (spec.activeDeadlineSeconds.value_or(1) <= 0)
    return must_be_positive("activeDeadlineSeconds", *spec.activeDeadlineSeconds);
  if (spec.preRunningDeadlineSeconds.value_or(1) <= 0)
    return must_be_positive("preRunningDeadlineSeconds", *spec.preRunningDeadlineSeconds);
  if (spec.backoffLimit.value_or(0) < 0)
    return must_be_positive("backoffLimit", *spec.backoffLimit, "; 0 is allowed, too");
  return {};
}

Fault check_spec(const RayJobSpec& spec, const StringMap& annotations,
                 const ValidationGates& gates) {
  if (auto fault = check_shutdown(spec, gates)) return fault;
  if (auto fault = check_deletion_strategy(spec, gates)) return fault;
  if (auto fault = check_cluster_choice(spec, gates)) return fault;
  if (auto fault = check_sidecar(spec, gates)) return fault;
  if (auto fault = check_cluster(spec, annotations, gates)) return fault;
  if (auto fault = check_runtime_env(spec.runtimeEnvYAML)) return fault;
  return check_deadlines(spec);
}

}  // namespace

Result<void> validate_job_metadata(const kube::ObjectMeta& meta) {
  const auto& name = meta.key.name;
  if (name.size() > kMaxRayJobName)
    return failed(ErrorCode::Invalid,
                  fmt::format("The RayJob metadata is invalid: RayJob name should be no more than "
                              "{} characters: got {}",
                              kMaxRayJobName, name.size()));
  if (const auto faults = dns1035_label_faults(name); !faults.empty())
    return failed(ErrorCode::Invalid,
                  "The RayJob metadata is invalid: RayJob name should be a valid DNS1035 label: " +
                      go_list(faults));
  return {};
}

Result<void> validate_job_spec(const RayJobSpec& spec, const StringMap& annotations,
                               const ValidationGates& gates) {
  return to_result(check_spec(spec, annotations, gates));
}

Result<void> validate_job_status(const RayJobSpec& spec, const RayJobStatus& status) {
  if (status.jobDeploymentStatus == "Waiting" && spec.submissionMode != "InteractiveMode")
    return failed(ErrorCode::Invalid,
                  "The RayJob status is invalid: JobDeploymentStatus cannot be `Waiting` when "
                  "SubmissionMode is not InteractiveMode");
  return {};
}

}  // namespace manta::ray
