#include "ray/builders/gcs_ft.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::ray {
namespace {

// The shell that runs `ray start` fills in "$NAME"; in an env entry that is the kubelet's to do,
// who reads "$(NAME)". SEEN-17
std::string as_kubelet_reads_it(std::string_view text) {
  std::string_view name = text;
  if (!name.starts_with('$')) return std::string(text);
  name.remove_prefix(1);
  if (name.size() > 2 && name.front() == '{' && name.back() == '}')
    name = name.substr(1, name.size() - 2);
  const bool variable = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return variable ? fmt::format("$({})", name) : std::string(text);
}

void append_credential(JsonObject& ray, std::string_view name, const RedisCredential& credential) {
  JsonObject entry{{"name", name}};
  if (!credential.value.empty()) entry["value"] = credential.value;
  if (!credential.valueFrom.is_null()) entry["valueFrom"] = credential.valueFrom;
  array_in(ray, "env").push_back(std::move(entry));
}

// The shell that runs `ray start` expands the variable, so the secret stays out of the Pod spec.
void add_redis_options(JsonObject& ray, StartParams& params,
                       const GcsFaultToleranceOptions& options) {
  append_env(ray, kEnvRedisAddress, options.redisAddress);
  if (options.redisUsername) {
    params[std::string(kParamRedisUsername)] = "$REDIS_USERNAME";
    append_credential(ray, kEnvRedisUsername, *options.redisUsername);
  }
  if (options.redisPassword) {
    params[std::string(kParamRedisPassword)] = "$REDIS_PASSWORD";
    append_credential(ray, kEnvRedisPassword, *options.redisPassword);
  }
}

void add_redis(JsonObject& metadata, JsonObject& ray, StartParams& params,
               const RayCluster& cluster) {
  const std::string name = gcs_storage_namespace(cluster);
  object_in(metadata, "annotations")[kAnnotationExternalStorageNamespace] = name;
  default_env(ray, kEnvExternalStorageNamespace, name);
  if (const auto& options = cluster.spec.gcsFaultToleranceOptions) {
    add_redis_options(ray, params, *options);
    return;
  }
  // Set up by annotation: the clean-up Job reads the password from the environment.
  const auto password = params.find(kParamRedisPassword);
  if (password != params.end())
    default_env(ray, kEnvRedisPassword, as_kubelet_reads_it(password->second));
}

void add_rocksdb(JsonObject& pod_spec, JsonObject& ray, const RayCluster& cluster) {
  default_env(ray, kEnvGcsStorage, "rocksdb");
  default_env(ray, kEnvGcsStoragePath, kPathGcsStorage);
  append_mount(ray, kVolumeGcsStorage, kPathGcsStorage);
  const auto& storage = cluster.spec.gcsFaultToleranceOptions->storage;
  if (storage && !storage->subPath.empty())
    array_in(ray, "volumeMounts").back().get_object()["subPath"] = storage->subPath;
  array_in(pod_spec, "volumes")
      .push_back(JsonObject{
          {"name", kVolumeGcsStorage},
          {"persistentVolumeClaim", JsonObject{{"claimName", gcs_claim_name(cluster)}}}});
}

}  // namespace

std::string gcs_storage_namespace(const RayCluster& cluster) {
  const auto& options = cluster.spec.gcsFaultToleranceOptions;
  if (options && !options->externalStorageNamespace.empty())
    return options->externalStorageNamespace;
  // An empty one would be the same for every cluster on that Redis. SEEN-16
  const auto given = cluster.meta.annotation(kAnnotationExternalStorageNamespace);
  return given.empty() ? cluster.meta.uid : std::string(given);
}

void add_gcs_ft_to_head(JsonObject& metadata, JsonObject& pod_spec, StartParams& params,
                        const RayCluster& cluster) {
  const GcsStore store = gcs_store(cluster);
  object_in(metadata, "annotations")[kAnnotationFtEnabled] =
      store == GcsStore::None ? "false" : "true";
  JsonObject& ray = ray_container(pod_spec);
  if (store == GcsStore::Redis) add_redis(metadata, ray, params, cluster);
  if (store == GcsStore::RocksDb) add_rocksdb(pod_spec, ray, cluster);
}

void add_gcs_ft_to_worker(JsonObject& pod_spec, const RayCluster& cluster) {
  if (gcs_store(cluster) != GcsStore::None)
    default_env(ray_container(pod_spec), kEnvGcsReconnectTimeout, "600");
}

}  // namespace manta::ray
