// The history-server collector.
#include "ray/labels.h"
#include "ray/validation_features.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::ray {
namespace {

std::string change_case(std::string_view text, char from, char to) {
  std::string changed(text);
  for (char& c : changed)
    if (c >= from && c < from + 26) c = static_cast<char>(c - from + to);
  return changed;
}

std::string trimmed_lower(std::string_view text) {
  static constexpr std::string_view kSpace = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return change_case(text.substr(first, text.find_last_not_of(kSpace) - first + 1), 'A', 'a');
}

// The collector's environment, as far as it can be known beforehand.
class Environment {
 public:
  explicit Environment(const Json& env) : env_(env) {}

  bool mentions(std::string_view name) const { return find_env(env_, name) != nullptr; }
  std::string_view literal(std::string_view name) const {
    const Json* entry = find_env(env_, name);
    return entry == nullptr ? std::string_view() : string_at(*entry, {"value"});
  }
  /// A non-empty value, or one that comes from elsewhere.
  bool has(std::string_view name) const {
    const Json* entry = find_env(env_, name);
    if (entry == nullptr) return false;
    const Json* from = find(*entry, {"valueFrom"});
    return !string_at(*entry, {"value"}).empty() || (from != nullptr && !from->is_null());
  }

 private:
  const Json& env_;
};

Fault need(const Environment& env, std::string_view name, std::string_view when) {
  if (env.has(name)) return {};
  return fmt::format("{} environment variable must be set when STORAGE_BACKEND is {}", name, when);
}

Fault check_azure(const Environment& env) {
  static constexpr std::string_view kConnection = "AZURE_STORAGE_CONNECTION_STRING";
  static constexpr std::string_view kAccount = "AZURE_STORAGE_ACCOUNT_URL";
  const auto mode = trimmed_lower(env.literal("AZURE_STORAGE_AUTH_MODE"));
  const auto when = fmt::format("AZUREBLOB and AZURE_STORAGE_AUTH_MODE is {}", mode);
  if (mode == "connection_string") return need(env, kConnection, when);
  if (mode == "workload_identity" || mode == "default") return need(env, kAccount, when);
  if (env.has(kConnection) || env.has(kAccount)) return {};
  return "either AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL environment variable "
         "must be set when STORAGE_BACKEND is AZUREBLOB";
}

Fault check_backend(const Environment& env) {
  const auto backend = change_case(env.literal("STORAGE_BACKEND"), 'a', 'A');
  if (backend == "GCS") return need(env, "GCS_BUCKET", backend);
  if (backend == "S3") return need(env, "S3_REGION", backend);
  if (backend == "AZUREBLOB") return check_azure(env);
  if (backend == "ALIYUNOSS")
    for (const auto* name : {"OSS_BUCKET", "OSS_ENDPOINT", "OSS_REGION"})
      if (auto fault = need(env, name, backend)) return fault;
  return {};  // other backends know themselves what they need
}

Fault check_environment(const Environment& env) {
  for (const auto name : {kEnvPodIp, kEnvFqRayIp, kEnvClusterName, kEnvClusterNamespace,
                          kEnvRayRole, kEnvOwnerKind, kEnvOwnerName, kEnvEventsPort})
    if (env.mentions(name))
      return fmt::format(
          "historyServerOptions.collectorOptions.env must not contain {}: it is managed by KubeRay "
          "and injected automatically into the collector container",
          name);
  if (env.literal("STORAGE_BACKEND").empty())
    return "STORAGE_BACKEND environment variable must be set with a literal string value in "
           "historyServerOptions.collectorOptions.env";
  return check_backend(env);
}

bool has_collector(const Json& pod_template) {
  return std::ranges::any_of(containers_of(pod_template), [](const Json& container) {
    return string_at(container, {"name"}) == kContainerCollector;
  });
}

}  // namespace

Fault check_history_server(const RayClusterSpec& spec, const ValidationGates& gates) {
  if (!spec.historyServerOptions) return {};
  if (!gates.history_server) return "RayClusterHistoryServer feature gate is not enabled";
  const auto& collector = spec.historyServerOptions->collectorOptions;
  if (!collector) return "historyServerOptions.collectorOptions must be set";
  if (collector->image.value_or("").empty())
    return "historyServerOptions.collectorOptions.image must be set";
  if (auto fault = check_environment(Environment(collector->env))) return fault;
  if (has_collector(spec.headGroupSpec.template_))
    return "head pod template must not define a container with name 'ray-history-collector' when "
           "history server collector options are enabled";
  for (const auto& group : spec.workerGroupSpecs)
    if (has_collector(group.template_))
      return fmt::format(
          "worker group {} pod template must not define a container with name "
          "'ray-history-collector' when history server collector options are enabled",
          group.groupName);
  return {};
}

}  // namespace manta::ray
