#include "ray/builders/children.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/builders/scheduler_metadata.h"
#include "ray/builders/submitter.h"
#include "ray/labels.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

JsonObject ray_object(std::string_view kind, std::string_view name, const kube::ObjectMeta& owner,
                      std::string_view owner_kind, const StringMap& labels,
                      const StringMap& annotations, Json spec) {
  JsonObject metadata{{"name", name}, {"namespace", owner.key.namespace_}};
  if (!labels.empty()) metadata["labels"] = json_of(labels);
  if (!annotations.empty()) metadata["annotations"] = json_of(annotations);
  metadata["ownerReferences"] = JsonArray{owner_json(owner, owner_kind)};
  return JsonObject{{"apiVersion", kGroupVersion},
                    {"kind", kind},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

StringMap labels_of_child(const kube::ObjectMeta& owner, std::string_view owner_kind) {
  StringMap labels = owner.labels;
  labels[std::string(kLabelOriginCrName)] = owner.key.name;
  labels[std::string(kLabelOriginCrd)] = owner_kind;
  return labels;
}

// What tools write on the objects that they apply; on a copy it makes them prune it. RJ-44
void drop_owners_marks(StringMap& labels, StringMap& annotations) {
  labels.erase("app.kubernetes.io/instance");
  labels.erase("argocd.argoproj.io/instance");
  annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  std::erase_if(annotations,
                [](const auto& entry) { return entry.first.starts_with("argocd.argoproj.io/"); });
}

Result<void> add_sidecar(RayClusterSpec& spec, const RayJob& job, const BuildOptions& options) {
  RayCluster cluster;
  cluster.meta.key = {job.meta.key.namespace_, job.status.rayClusterName};
  cluster.spec = spec;
  auto container = build_sidecar_submitter(job, cluster, options);
  if (!container) return failed(container.error());
  Json& pod_template = spec.headGroupSpec.template_;
  if (!pod_template.is_object()) pod_template = JsonObject{};
  JsonObject& pod_spec = object_in(pod_template.get_object(), "spec");
  array_in(pod_spec, "containers").push_back(std::move(*container));
  pod_spec["restartPolicy"] = "Never";  // a new head would have lost the job
  return {};
}

}  // namespace

Result<Json> build_cluster_for_job(const RayJob& job, const BuildOptions& options) {
  RayClusterSpec spec = job.spec.rayClusterSpec.value_or(RayClusterSpec{});
  StringMap labels = labels_of_child(job.meta, kKindRayJob);
  labels[std::string(kLabelJobSubmissionMode)] = job.spec.submissionMode;
  StringMap annotations = job.meta.annotations;
  if (options.plain_job_metadata) drop_owners_marks(labels, annotations);
  if (job.spec.submissionMode == "SidecarMode") {
    annotations[std::string(kAnnotationDisableHeadRestart)] = "true";
    if (auto added = add_sidecar(spec, job, options); !added) return failed(added.error());
  }
  Json cluster = ray_object(kKindRayCluster, job.status.rayClusterName, job.meta, kKindRayJob,
                            labels, annotations, part_to_json(spec));
  if (job.spec.submissionMode == "K8sJobMode")
    add_scheduler_metadata_to_cluster(cluster, job, options);
  return cluster;
}

Json build_cluster_for_service(const RayService& service, std::string_view name,
                               bool has_active_cluster, const BuildOptions& options) {
  RayClusterSpec spec = service.spec.rayClusterConfig;
  StringMap annotations = service.meta.annotations;
  annotations[std::string(kAnnotationSpecHash)] = service_hash(spec);
  annotations[std::string(kAnnotationNumWorkerGroups)] =
      fmt::format("{}", spec.workerGroupSpecs.size());
  annotations[std::string(kAnnotationVersion)] = options.version;
  const auto& strategy = service.spec.upgradeStrategy;
  if (has_active_cluster && strategy && strategy->type == "NewClusterWithIncrementalUpgrade")
    for (auto& group : spec.workerGroupSpecs) group.replicas.reset();
  return ray_object(kKindRayCluster, name, service.meta, kKindRayService,
                    labels_of_child(service.meta, kKindRayService), annotations,
                    part_to_json(spec));
}

Json build_job_for_cron_job(const RayCronJob& cron_job, Time tick) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(tick.time_since_epoch()).count();
  return ray_object(kKindRayJob, fmt::format("{}-{}", cron_job.meta.key.name, seconds / 60),
                    cron_job.meta, kKindRayCronJob,
                    {{std::string(kLabelCronJobName), cron_job.meta.key.name}},
                    {{std::string(kAnnotationCronJobTimestamp), format_rfc3339(tick)}},
                    part_to_json(cron_job.spec.jobTemplate));
}

}  // namespace manta::ray
