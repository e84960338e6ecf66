#include "ray/builders/submitter.h"

#include "ray/builders/auth.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/command.h"
#include "ray/builders/edit.h"
#include "ray/builders/scheduler_metadata.h"
#include "ray/builders/submit_command.h"
#include "ray/labels.h"

namespace manta::ray {
namespace {

constexpr std::int32_t kDefaultBackoffLimit = 2;

JsonObject default_container(std::string_view image) {
  return JsonObject{
      {"name", kContainerSubmitter},
      {"image", image},
      {"resources", JsonObject{{"limits", JsonObject{{"cpu", "1"}, {"memory", "1Gi"}}},
                               {"requests", JsonObject{{"cpu", "500m"}, {"memory", "200Mi"}}}}}};
}

std::string_view image_of(const RayCluster& cluster) {
  return text_in(ray_container_of_template(cluster.spec.headGroupSpec.template_), "image");
}

// Built even when the user brings a command of his own, so that a wrong spec fails either way.
Result<void> configure(JsonObject& container, const RayJob& job, const RayCluster& cluster,
                       const BuildOptions& options, bool keep_users_command) {
  auto command = submit_command(job, options);
  if (!command) return failed(command.error());
  if (!keep_users_command || array_of(container, "command").empty()) {
    container["command"] = bash_command(options, /*exit_on_error=*/true);
    container["args"] = JsonArray{*command};
  }
  append_env(container, kEnvPythonUnbuffered, "1");
  append_env(container, kEnvDashboardAddress, job.status.dashboardURL);
  append_env(container, kEnvSubmissionId, job.status.jobId);
  add_token_auth(container, cluster);
  return {};
}

StringMap submitter_labels(const RayJob& job) {
  return {{std::string(kLabelOriginCrName), job.meta.key.name},
          {std::string(kLabelOriginCrd), std::string(kKindRayJob)},
          {std::string(kLabelCreatedBy), std::string(kCreatedBy)}};
}

}  // namespace

Json submitter_template(const RayJob& job, std::string_view image) {
  if (job.spec.submitterPodTemplate.is_object()) return job.spec.submitterPodTemplate;
  JsonArray containers;
  containers.push_back(default_container(image));
  return JsonObject{
      {"spec", JsonObject{{"containers", std::move(containers)}, {"restartPolicy", "Never"}}}};
}

Result<Json> build_submitter_job(const RayJob& job, const RayCluster& cluster,
                                 const BuildOptions& options) {
  const StringMap labels = submitter_labels(job);
  Json pod_template = submitter_template(job, image_of(cluster));
  JsonObject& object = pod_template.as_object();
  set_strings(object_in(object_in(object, "metadata"), "labels"), labels);
  JsonObject& pod_spec = object_in(object, "spec");
  if (auto done = configure(ray_container(pod_spec), job, cluster, options, true); !done)
    return failed(done.error());
  add_token_volume(pod_spec, cluster);
  // Only these two are allowed in a Job, and Kubernetes' own default is neither. RJ-32
  if (options.submitter_defaults && !pod_spec.contains("restartPolicy"))
    pod_spec["restartPolicy"] = "Never";
  add_scheduler_metadata(pod_template, job, kSubmitterGroup, options);

  const auto& config = job.spec.submitterConfig;
  const std::int32_t backoff =
      config ? config->backoffLimit.value_or(kDefaultBackoffLimit) : kDefaultBackoffLimit;
  JsonObject metadata{{"name", job.meta.key.name},
                      {"namespace", job.meta.key.namespace_},
                      {"labels", json_of(labels)},
                      {"ownerReferences", JsonArray{owner_json(job.meta, kKindRayJob)}}};
  return JsonObject{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", std::move(metadata)},
      {"spec", JsonObject{{"backoffLimit", backoff}, {"template", std::move(pod_template)}}}};
}

Result<JsonObject> build_sidecar_submitter(const RayJob& job, const RayCluster& cluster,
                                           const BuildOptions& options) {
  JsonObject container = default_container(image_of(cluster));
  if (auto done = configure(container, job, cluster, options, false); !done)
    return failed(done.error());
  if (options.sidecar_submitter_restart) container["restartPolicy"] = "OnFailure";
  return container;
}

}  // namespace manta::ray
