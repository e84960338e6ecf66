#include "ray/builders/autoscaler.h"

#include "ray/builders/auth.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/command.h"
#include "ray/builders/edit.h"
#include "ray/builders/tls.h"
#include "ray/labels.h"
#include "ray/names.h"

namespace manta::ray {
namespace {

// $(NAME) is filled in by the kubelet from the container's env, before any shell.
constexpr std::string_view kStart =
    "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) "
    "--cluster-namespace $(RAY_CLUSTER_NAMESPACE)";

bool has_version(const RayClusterSpec& spec, std::string_view version) {
  return spec.autoscalerOptions && spec.autoscalerOptions->version == version;
}

void append_all(JsonObject& container, std::string_view key, const Json& items) {
  if (!items.is_array() || items.get_array().empty()) return;
  JsonArray& list = array_in(container, key);
  for (const Json& item : items.get_array()) list.push_back(item);
}

JsonArray words(const std::vector<std::string>& list) {
  JsonArray array;
  for (const auto& word : list) array.emplace_back(word);
  return array;
}

void apply_options(JsonObject& container, const AutoscalerOptions& options) {
  if (!options.resources.is_null()) container["resources"] = options.resources;
  if (options.image) container["image"] = *options.image;
  if (options.imagePullPolicy) container["imagePullPolicy"] = *options.imagePullPolicy;
  append_all(container, "env", options.env);
  append_all(container, "envFrom", options.envFrom);
  append_all(container, "volumeMounts", options.volumeMounts);
  if (!options.securityContext.is_null()) container["securityContext"] = options.securityContext;
  if (!options.command.empty()) container["command"] = words(options.command);
  if (!options.args.empty()) container["args"] = words(options.args);
}

}  // namespace

bool autoscaler_v2(const RayClusterSpec& spec) { return has_version(spec, "v2"); }
bool autoscaler_v1(const RayClusterSpec& spec) { return has_version(spec, "v1"); }

std::string autoscaler_service_account(const RayCluster& cluster) {
  const auto given =
      string_at(cluster.spec.headGroupSpec.template_, {"spec", "serviceAccountName"});
  return given.empty() ? access_name(cluster) : check_name(given);
}

JsonObject build_autoscaler_container(const RayCluster& cluster, const BuildOptions& options) {
  const JsonObject& ray = ray_container_of_template(cluster.spec.headGroupSpec.template_);
  JsonObject container{{"name", kContainerAutoscaler}};
  if (has_value(ray, "image")) container["image"] = ray.at("image");
  container["command"] = bash_command(options);
  container["args"] = JsonArray{kStart};
  append_env_field(container, kEnvClusterName, "metadata.labels['ray.io/cluster']");
  append_env_field(container, kEnvClusterNamespace, "metadata.namespace");
  append_env_field(container, kEnvHeadPodName, "metadata.name");
  append_env(container, kEnvCrdVersion, "v1");
  append_env(container, kEnvGenAutoscalerCmd, kStart);
  container["resources"] = fixed_resources("500m", "512Mi");
  container["imagePullPolicy"] = "IfNotPresent";
  add_token_auth(container, cluster);
  if (mtls_enabled(cluster.spec, options)) add_tls(container);
  if (cluster.spec.autoscalerOptions) apply_options(container, *cluster.spec.autoscalerOptions);
  return container;
}

}  // namespace manta::ray
