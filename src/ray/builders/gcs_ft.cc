#include "ray/builders/gcs_ft.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/labels.h"

namespace manta::ray {
namespace {

std::string storage_namespace(const RayCluster& cluster) {
  const auto& options = cluster.spec.gcsFaultToleranceOptions;
  if (options && !options->externalStorageNamespace.empty())
    return options->externalStorageNamespace;
  const auto given = cluster.meta.annotations.find(kAnnotationExternalStorageNamespace);
  return given != cluster.meta.annotations.end() ? given->second : cluster.meta.uid;
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
  const std::string name = storage_namespace(cluster);
  object_in(metadata, "annotations")[kAnnotationExternalStorageNamespace] = name;
  default_env(ray, kEnvExternalStorageNamespace, name);
  if (const auto& options = cluster.spec.gcsFaultToleranceOptions) {
    add_redis_options(ray, params, *options);
    return;
  }
  // Set up by annotation: the clean-up Job reads the password from the environment.
  const auto password = params.find(kParamRedisPassword);
  if (password != params.end()) default_env(ray, kEnvRedisPassword, password->second);
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
