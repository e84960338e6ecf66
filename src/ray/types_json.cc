// JSON both ways for the types of types.h, by their descriptions.
#include "ray/reflect.h"
#include "ray/spec_hash.h"
#include "ray/types.h"

namespace manta::ray {

const kube::Resource kRayClusters{"ray.io", "v1", "rayclusters", "RayCluster", true};
const kube::Resource kRayJobs{"ray.io", "v1", "rayjobs", "RayJob", true};
const kube::Resource kRayServices{"ray.io", "v1", "rayservices", "RayService", true};
const kube::Resource kRayCronJobs{"ray.io", "v1", "raycronjobs", "RayCronJob", true};

template <class T>
Result<T> parse_part(const Json& value, std::string_view path) {
  T part;
  std::vector<FieldCause> causes;
  read_object(type_of<T>(), &part, value, std::string(path), causes);
  if (auto ok = causes_to_result(std::move(causes)); !ok) return failed(ok.error());
  return part;
}

template <class T>
Json part_to_json(const T& part) {
  return write_object(type_of<T>(), &part, WriteMode::Api);
}

template <class T>
std::string canonical_text(const T& part) {
  return dump_json(write_object(type_of<T>(), &part, WriteMode::Canonical), JsonEscape::Html);
}

#define MANTA_PART(T)                                              \
  template Result<T> parse_part<T>(const Json&, std::string_view); \
  template Json part_to_json<T>(const T&);                         \
  template std::string canonical_text<T>(const T&);
MANTA_PART(AuthOptions)
MANTA_PART(AutoscalerOptions)
MANTA_PART(GcsFaultToleranceOptions)
MANTA_PART(NetworkPolicyConfig)
MANTA_PART(HeadGroupSpec)
MANTA_PART(WorkerGroupSpec)
MANTA_PART(RayClusterSpec)
MANTA_PART(Condition)
MANTA_PART(RayClusterStatus)
MANTA_PART(DeletionStrategy)
MANTA_PART(RayJobSpec)
MANTA_PART(RayJobStatus)
MANTA_PART(RayServiceUpgradeStrategy)
MANTA_PART(RayServiceSpec)
MANTA_PART(ServeClusterStatus)
MANTA_PART(RayServiceStatus)
MANTA_PART(RayCronJobSpec)
MANTA_PART(RayCronJobStatus)
#undef MANTA_PART

namespace {

template <class Kind>
Result<Kind> parse_kind(const Json& object) {
  if (!object.is_object()) return failed(ErrorCode::Invalid, "the object must be a JSON object");
  auto meta = kube::parse_meta(object, kube::KeepAnnotations::Yes);
  if (!meta) return failed(meta.error());
  Kind kind;
  kind.meta = std::move(*meta);
  std::vector<FieldCause> causes;
  if (const Json* spec = find(object, {"spec"}))
    read_object(type_of<decltype(kind.spec)>(), &kind.spec, *spec, "spec", causes);
  if (const Json* status = find(object, {"status"}))
    read_object(type_of<decltype(kind.status)>(), &kind.status, *status, "status", causes);
  if (auto ok = causes_to_result(std::move(causes)); !ok) return failed(ok.error());
  return kind;
}

template <class Kind>
Json kind_to_json(const kube::Resource& resource, const Kind& object) {
  return JsonObject{{"apiVersion", resource.api_version()},
                    {"kind", resource.kind},
                    {"metadata", to_json(object.meta)},
                    {"spec", part_to_json(object.spec)},
                    {"status", part_to_json(object.status)}};
}

Json to_json(const StringMap& map) {
  JsonObject members;
  for (const auto& [key, text] : map) members[key] = text;
  return members;
}

}  // namespace

Result<RayCluster> parse_ray_cluster(const Json& object) { return parse_kind<RayCluster>(object); }
Result<RayJob> parse_ray_job(const Json& object) {
  auto job = parse_kind<RayJob>(object);
  // The API server defaults what is absent, and takes an empty text.
  if (job && job->spec.submissionMode.empty()) job->spec.submissionMode = "K8sJobMode";
  return job;
}
Result<RayService> parse_ray_service(const Json& object) { return parse_kind<RayService>(object); }
Result<RayCronJob> parse_ray_cron_job(const Json& object) { return parse_kind<RayCronJob>(object); }

Json to_json(const RayCluster& cluster) { return kind_to_json(kRayClusters, cluster); }
Json to_json(const RayJob& job) { return kind_to_json(kRayJobs, job); }
Json to_json(const RayService& service) { return kind_to_json(kRayServices, service); }
Json to_json(const RayCronJob& cron_job) { return kind_to_json(kRayCronJobs, cron_job); }

Json to_json(const kube::ObjectMeta& meta) {
  JsonObject out;
  if (!meta.key.name.empty()) out["name"] = meta.key.name;
  if (!meta.key.namespace_.empty()) out["namespace"] = meta.key.namespace_;
  if (!meta.uid.empty()) out["uid"] = meta.uid;
  if (meta.resource_version != 0) out["resourceVersion"] = std::to_string(meta.resource_version);
  if (!meta.labels.empty()) out["labels"] = to_json(meta.labels);
  if (!meta.annotations.empty()) out["annotations"] = to_json(meta.annotations);
  if (!meta.owners.empty()) {
    JsonArray owners;
    for (const auto& owner : meta.owners) owners.push_back(kube::to_json(owner));
    out["ownerReferences"] = std::move(owners);
  }
  if (!meta.finalizers.empty()) {
    JsonArray finalizers;
    for (const auto& name : meta.finalizers) finalizers.push_back(Json(name));
    out["finalizers"] = std::move(finalizers);
  }
  return out;
}

}  // namespace manta::ray
