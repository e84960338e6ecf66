#include "ray/validation_gcs.h"

#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::ray {
namespace {

std::string_view text_of(const StringMap& map, std::string_view key) {
  const auto it = map.find(key);
  return it == map.end() ? std::string_view() : std::string_view(it->second);
}

std::string_view param(const HeadGroupSpec& head, std::string_view key) {
  return head.rayStartParams ? text_of(*head.rayStartParams, key) : std::string_view();
}

bool equals_true(std::string_view text) {
  return std::ranges::equal(text, std::string_view("true"), {},
                            [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
}

std::string belongs_in_options(std::string_view what, std::string_view where,
                               std::string_view field) {
  return fmt::format(
      "cannot set `{}` {} when GcsFaultToleranceOptions is enabled - use "
      "GcsFaultToleranceOptions.{} instead",
      what, where, field);
}

Fault check_conflicts(const HeadGroupSpec& head, const StringMap& annotations) {
  if (!param(head, kParamRedisPassword).empty())
    return belongs_in_options(kParamRedisPassword, "in rayStartParams", "RedisPassword");
  if (ray_env(head.template_, kEnvRedisPassword) != nullptr)
    return belongs_in_options(kEnvRedisPassword, "env var in head Pod", "RedisPassword");
  if (ray_env(head.template_, kEnvRedisAddress) != nullptr)
    return belongs_in_options(kEnvRedisAddress, "env var in head Pod", "RedisAddress");
  if (!text_of(annotations, kAnnotationExternalStorageNamespace).empty())
    return belongs_in_options(kAnnotationExternalStorageNamespace, "annotation",
                              "ExternalStorageNamespace");
  return {};
}

std::string not_with_rocksdb(std::string_view field) {
  return fmt::format("cannot set GcsFaultToleranceOptions.{} when backend is 'rocksdb'", field);
}

// What the operator mounts itself must not be there already.
Fault check_storage_is_free(const Json& pod_template) {
  if (ray_env(pod_template, kEnvGcsStorage) != nullptr ||
      ray_env(pod_template, kEnvGcsStoragePath) != nullptr)
    return "cannot set `RAY_gcs_storage` or `RAY_gcs_storage_path` env var in head Pod when the "
           "embedded GCS FT backend is used - these are managed by KubeRay";
  if (const Json* container = ray_container(pod_template))
    for (const Json& mount : array_at(*container, {"volumeMounts"}))
      if (string_at(mount, {"mountPath"}) == kPathGcsStorage ||
          string_at(mount, {"name"}) == kVolumeGcsStorage)
        return "cannot set a volume mount named \"gcs-storage\" or mounted at /data/gcs in the "
               "head container when the embedded GCS FT backend is used - it is managed by KubeRay";
  for (const Json& volume : array_at(pod_template, {"spec", "volumes"}))
    if (string_at(volume, {"name"}) == kVolumeGcsStorage)
      return "cannot set a volume named \"gcs-storage\" in the head Pod when the embedded GCS FT "
             "backend is used - it is managed by KubeRay";
  return {};
}

Fault check_rocksdb(const GcsFaultToleranceOptions& options, const Json& head_template,
                    const ValidationGates& gates) {
  if (!gates.embedded_gcs_storage)
    return "the embedded RocksDB GCS fault tolerance backend (GcsFaultToleranceOptions.Backend: "
           "'rocksdb') requires the GCSFaultToleranceEmbeddedStorage feature gate to be enabled";
  if (!options.redisAddress.empty()) return not_with_rocksdb("RedisAddress");
  if (options.redisUsername) return not_with_rocksdb("RedisUsername");
  if (options.redisPassword) return not_with_rocksdb("RedisPassword");
  if (!options.externalStorageNamespace.empty())
    return not_with_rocksdb("ExternalStorageNamespace");
  if (const auto& storage = options.storage;
      storage && !storage->claimName.empty() &&
      (storage->size || storage->storageClassName || !storage->accessModes.empty()))
    return "GcsFaultToleranceOptions.Storage.ClaimName is mutually exclusive with size, "
           "storageClassName, and accessModes";
  return check_storage_is_free(head_template);
}

Fault check_options(const GcsFaultToleranceOptions& options, const HeadGroupSpec& head,
                    const StringMap& annotations, const ValidationGates& gates) {
  if (auto fault = check_conflicts(head, annotations)) return fault;
  if (options.backend == "rocksdb") return check_rocksdb(options, head.template_, gates);
  if (options.storage)
    return "cannot set GcsFaultToleranceOptions.Storage when backend is 'redis' - it only applies "
           "to the 'rocksdb' backend";
  return {};
}

}  // namespace

Fault check_gcs_fault_tolerance(const RayClusterSpec& spec, const StringMap& annotations,
                                const ValidationGates& gates) {
  const auto& options = spec.gcsFaultToleranceOptions;
  const auto& head = spec.headGroupSpec;
  const auto enabled = text_of(annotations, kAnnotationFtEnabled);
  if (!enabled.empty() && options)
    return "ray.io/ft-enabled annotation and GcsFaultToleranceOptions are both set. Please use "
           "only GcsFaultToleranceOptions to configure GCS fault tolerance";
  if (!options && !equals_true(enabled) && ray_env(head.template_, kEnvRedisAddress) != nullptr)
    return "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but "
           "GcsFaultToleranceOptions is not set. Please set GcsFaultToleranceOptions to enable GCS "
           "fault tolerance";
  if (options)
    if (auto fault = check_options(*options, head, annotations, gates)) return fault;
  if (!param(head, kParamRedisUsername).empty() ||
      ray_env(head.template_, kEnvRedisUsername) != nullptr)
    return "cannot set redis username in rayStartParams or environment variables - use "
           "GcsFaultToleranceOptions.RedisUsername instead";
  return {};
}

}  // namespace manta::ray
