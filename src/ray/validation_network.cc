// Network isolation and encryption.
#include "ray/labels.h"
#include "ray/name_rules.h"
#include "ray/validation_features.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::ray {
namespace {

/// `path`: networkPolicy.head, networkPolicy.workerGroups["a"], …
Fault check_rules(const Json& ingress, const Json& egress, std::string_view mode,
                  const std::string& path) {
  if (mode == "DenyAllEgress" && non_empty_list(ingress))
    return path +
           ".ingressRules cannot be set when mode is \"DenyAllEgress\" (ingress is not restricted)";
  if (mode == "DenyAllIngress" && non_empty_list(egress))
    return path +
           ".egressRules cannot be set when mode is \"DenyAllIngress\" (egress is not restricted)";
  return {};
}

Fault check_group_names(const RayClusterSpec& spec) {
  for (const auto& group : spec.workerGroupSpecs)
    if (const auto faults = dns1123_label_faults(group.groupName); !faults.empty())
      return fmt::format(
          "worker group name {} must be a valid DNS1123 label when networkPolicy is enabled (it is "
          "embedded in the NetworkPolicy name): {}",
          go_quote(group.groupName), go_list(faults));
  return {};
}

constexpr std::string_view kTlsEnv[] = {kEnvUseTls, kEnvTlsCert, kEnvTlsKey, kEnvTlsCa};

/// `pod`: "head Pod", "worker group \"a\"".
Fault check_tls_is_free(const Json& pod_template, const std::string& pod) {
  for (const auto name : kTlsEnv)
    if (ray_env(pod_template, name) != nullptr)
      return fmt::format(
          "cannot set {} environment variable in {} when tlsOptions is set - the operator manages "
          "TLS configuration automatically",
          name, pod);
  const Json* container = ray_container(pod_template);
  if (container == nullptr) return {};
  for (const Json& mount : array_at(*container, {"volumeMounts"})) {
    if (string_at(mount, {"name"}) == kVolumeTls)
      return fmt::format(
          "cannot use volume mount named \"ray-tls\" in {} when tlsOptions is set - the operator "
          "manages TLS configuration automatically",
          pod);
    if (string_at(mount, {"mountPath"}) == kPathTls)
      return fmt::format(
          "cannot use volume mount at path \"/etc/ray/tls\" in {} when tlsOptions is set - the "
          "operator manages TLS configuration automatically",
          pod);
  }
  return {};
}

Fault check_autoscaler_tls(const AutoscalerOptions& options) {
  for (const auto name : kTlsEnv)
    if (find_env(options.env, name) != nullptr)
      return fmt::format(
          "cannot set {} environment variable in autoscalerOptions.env when tlsOptions is set - "
          "the operator manages TLS configuration for the autoscaler automatically",
          name);
  if (!options.volumeMounts.is_array()) return {};
  for (const Json& mount : options.volumeMounts.get_array()) {
    if (string_at(mount, {"name"}) == kVolumeTls)
      return "cannot use volume mount named \"ray-tls\" in autoscalerOptions.volumeMounts when "
             "tlsOptions is set - the operator manages TLS configuration automatically";
    if (string_at(mount, {"mountPath"}) == kPathTls)
      return "cannot use volume mount at path \"/etc/ray/tls\" in autoscalerOptions.volumeMounts "
             "when tlsOptions is set - the operator manages TLS configuration automatically";
  }
  return {};
}

}  // namespace

Fault check_network_policy(const RayClusterSpec& spec, const ValidationGates& gates) {
  if (!spec.networkPolicy) return {};
  if (!gates.network_policy)
    return "spec.networkPolicy requires the RayClusterNetworkPolicy feature gate to be enabled";
  const auto& policy = *spec.networkPolicy;
  const std::string mode = policy.mode.value_or("DenyAll");
  if (policy.head)
    if (auto fault = check_rules(policy.head->ingressRules, policy.head->egressRules, mode,
                                 "networkPolicy.head"))
      return fault;
  if (policy.worker)
    if (auto fault = check_rules(policy.worker->ingressRules, policy.worker->egressRules, mode,
                                 "networkPolicy.worker"))
      return fault;
  if (auto fault = check_group_names(spec)) return fault;
  for (const auto& group : policy.workerGroups) {
    const auto path = fmt::format("networkPolicy.workerGroups[{}]", go_quote(group.groupName));
    if (auto fault = check_rules(group.ingressRules, group.egressRules, mode, path)) return fault;
    if (std::ranges::find(spec.workerGroupSpecs, group.groupName, &WorkerGroupSpec::groupName) ==
        spec.workerGroupSpecs.end())
      return path + " does not match any group name in workerGroupSpecs";
  }
  return {};
}

Fault check_tls(const RayClusterSpec& spec, const ValidationGates& gates) {
  if (!spec.tlsOptions) return {};
  if (!gates.mtls) return "spec.tlsOptions requires the RayClusterMTLS feature gate to be enabled";
  if (!is_true(spec.tlsOptions->enabled)) return {};
  if (auto fault = check_tls_is_free(spec.headGroupSpec.template_, "head Pod")) return fault;
  for (const auto& group : spec.workerGroupSpecs)
    if (auto fault =
            check_tls_is_free(group.template_, "worker group " + go_quote(group.groupName)))
      return fault;
  if (spec.autoscalerOptions) return check_autoscaler_tls(*spec.autoscalerOptions);
  return {};
}

}  // namespace manta::ray
