#include "ray/builders/redis_cleanup.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/command.h"
#include "ray/builders/edit.h"
#include "ray/builders/pod.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <algorithm>
#include <array>

namespace manta::ray {
namespace {

// Everything that differs between clusters comes in by environment, nothing by this text. The user
// name is only passed on where there is one, since Ray's function did not always take it.
constexpr std::string_view kScript = R"sh(
echo "Removing this RayCluster's data from Redis. How to do it by hand, and how to remove the" \
  "finalizer then: https://docs.ray.io/en/master/cluster/kubernetes/user-guides/kuberay-gcs-ft.html"
exec python -c '
import os
import sys
from urllib.parse import urlparse

from ray._private.gcs_utils import cleanup_redis_storage

first = os.getenv("RAY_REDIS_ADDRESS", "").split(",")[0]
redis = urlparse(first if "://" in first else "redis://" + first)
login = {"password": os.getenv("REDIS_PASSWORD", redis.password or "")}
if "REDIS_USERNAME" in os.environ:
    login["username"] = os.environ["REDIS_USERNAME"]
removed = cleanup_redis_storage(
    host=redis.hostname,
    port=redis.port,
    use_ssl=redis.scheme == "rediss",
    storage_namespace=os.getenv("RAY_external_storage_namespace"),
    **login,
)
sys.exit(0 if removed else 1)
'
)sh";

// Configuration, which any node can give a Pod: the certificate authority of a Redis, say.
bool is_configuration(const Json& volume) {
  return std::ranges::any_of(std::array{"secret", "configMap", "projected", "downwardAPI"},
                             [&](const auto* source) { return find(volume, {source}) != nullptr; });
}

template <class Keep>
void keep_only(JsonObject& object, std::string_view list, Keep keep) {
  JsonArray kept;
  for (const Json& item : array_of(object, list))
    if (keep(item)) kept.push_back(item);
  if (kept.empty())
    object.erase(list);
  else
    object[list] = std::move(kept);
}

// FT-02, FT-12, behind their gate: what the head was admitted with suits the clean-up, too, but it
// needs none of the head's devices, disks or places.
void reduce_to_minimum(JsonObject& pod_spec, JsonObject& ray) {
  for (const auto* key : {"initContainers", "nodeSelector", "affinity", "topologySpreadConstraints",
                          "resourceClaims", "hostNetwork"})
    pod_spec.erase(key);
  for (const auto* key : {"volumeDevices", "ports", "lifecycle", "startupProbe"}) ray.erase(key);
  keep_only(ray, "volumeMounts", [&](const Json& mount) {
    const auto* volume = find_named(array_of(pod_spec, "volumes"), string_at(mount, {"name"}));
    return volume != nullptr && is_configuration(*volume);
  });
  keep_only(pod_spec, "volumes", is_configuration);
}

// The CPU and memory of the Ray container, nothing else of it.
Json plain_resources(const JsonObject& resources) {
  JsonObject plain;
  for (const auto* kind : {"limits", "requests"})
    for (const auto* name : {"cpu", "memory"})
      if (const auto& amounts = object_of(resources, kind); has_value(amounts, name))
        object_in(plain, kind)[name] = amounts.at(name);
  return plain;
}

void reduce_to_cleanup(JsonObject& ray, const BuildOptions& options) {
  ray["command"] = bash_command(options);
  ray["args"] = JsonArray{kScript};
  ray.erase("livenessProbe");
  ray.erase("readinessProbe");
  append_env(ray, kEnvRedisConnectRetries, "120");
  append_env(ray, kEnvRedisConnectWait, "500");
  auto resources = options.minimal_redis_cleanup ? plain_resources(object_of(ray, "resources"))
                                                 : Json(JsonObject{});
  ray["resources"] =
      resources.get_object().empty() ? fixed_resources("200m", "256Mi") : std::move(resources);
}

void remove_named(JsonArray& list, std::string_view name) {
  for (auto it = list.begin(); it != list.end();)
    it = it->is_object() && text_in(it->get_object(), "name") == name ? list.erase(it) : it + 1;
}

}  // namespace

Json build_redis_cleanup_job(const RayCluster& cluster, const BuildOptions& options) {
  Json pod = build_head_pod_for_cleanup(cluster, options);
  JsonObject& metadata = pod.as_object().at("metadata").as_object();
  JsonObject& spec = pod.as_object().at("spec").as_object();
  object_in(metadata, "labels")[kLabelNodeType] = kNodeTypeRedisCleanup;
  array_in(spec, "containers").resize(1);
  // The certificate of a Pod that is not the head will never name its address.
  if (spec.contains("initContainers"))
    remove_named(array_in(spec, "initContainers"), kContainerWaitTls);
  if (options.minimal_redis_cleanup) reduce_to_minimum(spec, ray_container(spec));
  reduce_to_cleanup(ray_container(spec), options);
  spec["restartPolicy"] = "Never";

  JsonObject job_metadata{
      {"name", redis_cleanup_job_name(cluster.meta.key.name)},
      {"namespace", cluster.meta.key.namespace_},
      {"labels", object_of(metadata, "labels")},
      {"annotations", object_of(metadata, "annotations")},
      {"ownerReferences", JsonArray{owner_json(cluster.meta, kKindRayCluster)}}};
  JsonObject job_spec{
      {"activeDeadlineSeconds", 300},
      {"backoffLimit", 0},
      {"template", JsonObject{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}}}};
  return JsonObject{{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", std::move(job_metadata)},
                    {"spec", std::move(job_spec)}};
}

}  // namespace manta::ray
