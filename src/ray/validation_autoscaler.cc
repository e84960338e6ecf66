// The autoscaler, and authentication.
#include "ray/labels.h"
#include "ray/ray_version.h"
#include "ray/validation_features.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

const WorkerGroupSpec* first_suspended(const RayClusterSpec& spec) {
  for (const auto& group : spec.workerGroupSpecs)
    if (is_true(group.suspend)) return &group;
  return nullptr;
}

Fault check_disabled(const RayClusterSpec& spec) {
  const Json* env = ray_env(spec.headGroupSpec.template_, kEnvEnableAutoscalerV2);
  if (env == nullptr) return {};
  const auto value = string_at(*env, {"value"});
  if (value != "1" && value != "true") return {};
  return fmt::format(
      "environment variable RAY_enable_autoscaler_v2 cannot be set to '{}' when "
      "enableInTreeAutoscaling is false. Please set enableInTreeAutoscaling: true to use "
      "autoscaler v2",
      value);
}

Fault check_enabled(const RayClusterSpec& spec) {
  if (const auto* group = first_suspended(spec))
    return fmt::format("worker group {} cannot be suspended with Autoscaler enabled",
                       group->groupName);
  if (!spec.autoscalerOptions || !spec.autoscalerOptions->version) return {};
  if (ray_env(spec.headGroupSpec.template_, kEnvEnableAutoscalerV2) != nullptr)
    return "both .spec.autoscalerOptions.version and head Pod env var RAY_enable_autoscaler_v2 are "
           "set, please only use the former";
  if (spec.autoscalerOptions->version != "v2") return {};
  if (restarts(spec.headGroupSpec.template_))
    return "restartPolicy for head Pod should be Never or unset when using autoscaler V2" +
           got_restart_policy(spec.headGroupSpec.template_);
  for (const auto& group : spec.workerGroupSpecs)
    if (restarts(group.template_))
      return fmt::format(
          "restartPolicy for worker group {} should be Never or unset when using autoscaler V2{}",
          group.groupName, got_restart_policy(group.template_));
  return {};
}

}  // namespace

Fault check_autoscaler(const RayClusterSpec& spec, const ValidationGates& gates) {
  if (const auto* group = first_suspended(spec); group && !gates.job_deletion_policy)
    return fmt::format(
        "worker group {} can be suspended only when the RayJobDeletionPolicy feature gate is "
        "enabled",
        group->groupName);
  if (auto fault = autoscaling_enabled(spec) ? check_enabled(spec) : check_disabled(spec))
    return fault;
  if (!spec.autoscalerOptions) return {};
  const auto& options = *spec.autoscalerOptions;
  if (options.idleTimeoutSeconds.value_or(0) < 0)
    return fmt::format("autoscalerOptions.idleTimeoutSeconds must be non-negative, got {}",
                       *options.idleTimeoutSeconds);
  if (find_env(options.env, kEnvGenAutoscalerCmd) != nullptr)
    return "autoscalerOptions.env must not contain KUBERAY_GEN_AUTOSCALER_START_CMD: it is managed "
           "by KubeRay and injected automatically into the autoscaler container";
  return {};
}

Fault check_auth(const RayClusterSpec& spec) {
  if (!spec.authOptions) return {};
  const auto& auth = *spec.authOptions;
  const bool kubernetes = is_true(auth.enableK8sTokenAuth);
  if (auth.mode != "token") {
    if (!kubernetes) return {};
    return fmt::format(
        "authOptions.enableK8sTokenAuth is enabled but authOptions.mode not set to 'token': got "
        "'{}'",
        auth.mode);
  }
  if (spec.rayVersion.empty())
    return "authOptions.mode is 'token' but RayVersion was not specified. Ray version 2.52.0 or "
           "later is required";
  const auto version = parse_ray_version(spec.rayVersion);
  if (!version)
    return fmt::format("authOptions.mode is 'token' but RayVersion format is invalid: {}, {}",
                       spec.rayVersion, version.error().message);
  if (*version < RayVersion{{2, 52, 0}})
    return fmt::format("authOptions.mode is 'token' but minimum Ray version is 2.52.0, got {}",
                       spec.rayVersion);
  if (!kubernetes) return {};
  if (*version < RayVersion{{2, 55, 0}})
    return fmt::format(
        "authOptions.enableK8sTokenAuth is enabled but minimum Ray version is 2.55.0, got {}",
        spec.rayVersion);
  if (!auth.secretName.value_or("").empty())
    return fmt::format(
        "authOptions.enableK8sTokenAuth is enabled and authOptions.secretName is also set: got {}",
        *auth.secretName);
  return {};
}

}  // namespace manta::ray
