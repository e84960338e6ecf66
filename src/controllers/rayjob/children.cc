#include "controllers/rayjob/children.h"

#include "controllers/rayjob/driver_log.h"
#include "controllers/writes.h"
#include "ray/builders/children.h"
#include "ray/builders/service.h"
#include "ray/builders/submitter.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

void set_events(kube::Write& write, std::string_view verb, std::string_view reason,
                std::string done, std::string failed) {
  const auto action = verb == "Created" ? "Create" : verb == "Updated" ? "Update" : "Delete";
  const auto bare = verb == "Created" ? "Create" : verb == "Updated" ? "Update" : "Delete";
  write.done_event = normal(fmt::format("{}{}", verb, reason), action, std::move(done));
  write.failed_event =
      warning(fmt::format("FailedTo{}{}", bare, reason), action, std::move(failed));
}

kube::ObjectKey cluster_key(const Draft& draft) {
  return {draft.seen.key().namespace_, draft.status.rayClusterName};
}

// The RayJob as builders should see it: with the status that is being decided.
ray::RayJob job_with_status(const Draft& draft) {
  auto job = draft.job();
  job.status = draft.status;
  return job;
}

}  // namespace

bool ensure_cluster(Draft& draft) {
  if (draft.seen.cluster) return true;
  const auto key = cluster_key(draft).to_string();
  if (selects_cluster(draft.spec())) {
    draft.status.message = fmt::format(
        "RayCluster {} set in the clusterSelector is not found. It must be created manually", key);
    draft.plan.events.push_back(warning("RayClusterNotFound", "Validate", draft.status.message));
    return false;  // its creation brings us back
  }
  if (!draft.spec().rayClusterSpec) return false;  // an invalid edit took it away
  auto cluster = ray::build_cluster_for_job(job_with_status(draft), draft.settings.build);
  if (!cluster) {
    draft.status.message = cluster.error().message;
    return false;
  }
  auto write = create(ray::kRayClusters, std::move(*cluster), "cluster");
  set_events(write, "Created", "RayCluster", "Created RayCluster " + key,
             fmt::format("Failed to create RayCluster {}: {{error}}", key));
  write.why = "the RayJob has no cluster";
  draft.plan.stage().push_back(std::move(write));
  return false;
}

bool scheduler_takes(Draft& draft) {
  const auto scheduler = draft.settings.build.scheduler;
  const auto key = draft.seen.key().to_string();
  std::string problem;
  if (scheduler == ray::BatchScheduler::SchedulerPlugins)
    problem = "scheduler-plugins schedules RayClusters only, no RayJobs";
  else if (scheduler == ray::BatchScheduler::Kai && submission_mode(draft.spec()) == Mode::K8sJob)
    problem =
        "KAI-Scheduler does not support RayJob with K8sJobMode: the submitter pod is created after "
        "RayCluster is ready, preventing proper gang scheduling";
  else if (scheduler == ray::BatchScheduler::Volcano && !draft.spec().rayClusterSpec)
    problem = fmt::format(
        "gang scheduling does not support RayJob {} referencing an existing RayCluster", key);
  if (problem.empty()) return true;
  // SEEN-23: upstream says nothing and waits for ever.
  draft.status.message = problem;
  draft.plan.events.push_back(
      warning("UnsupportedByBatchScheduler", "Validate", fmt::format("{}: {}", key, problem)));
  return false;
}

bool ensure_submitter(Draft& draft) {
  if (draft.seen.submitter) return true;
  const auto key = draft.seen.key().to_string();
  auto job =
      ray::build_submitter_job(job_with_status(draft), *draft.seen.cluster, draft.settings.build);
  if (!job) {
    draft.status.message = job.error().message;
    return false;
  }
  auto write = create(kube::kJobs, std::move(*job), "submitter");
  set_events(write, "Created", "RayJobSubmitter", "Created Kubernetes Job " + key,
             fmt::format("Failed to create new Kubernetes Job {}: {{error}}", key));
  write.why = "the RayCluster is ready";
  draft.plan.stage().push_back(std::move(write));
  return false;
}

void ensure_head_service(Draft& draft) {
  if (selects_cluster(draft.spec())) return;
  auto wanted = ray::build_head_service(draft.job(), *draft.seen.cluster, draft.settings.build);
  const auto key = created_key(wanted);
  if (!draft.seen.service) {
    auto write = create(kube::kServices, std::move(wanted), "service");
    set_events(write, "Created", "Service", "Created the service " + key,
               fmt::format("Failed to create the service {}, {{error}}", key));
    draft.plan.stage().push_back(std::move(write));
    return;
  }
  const auto& live = *draft.seen.service;
  const auto selected = live.selector.find(ray::kLabelCluster);
  if (selected != live.selector.end() && selected->second == draft.seen.cluster->meta.key.name)
    return;
  // RC-26: a Service of that name may belong to a RayCluster of the RayJob's name.
  const auto* owner = live.meta.controller_owner();
  if (!owner || owner->uid != draft.job().meta.uid) return;
  kube::Write write{.kind = kube::WriteKind::Patch,
                    .resource = kube::kServices,
                    .key = live.meta.key,
                    .body = replace_spec(live, object_at(wanted, {"spec"})),
                    .patch_type = kube::PatchType::Json,
                    .lane = "service",
                    .why = "the RayJob runs on another cluster now"};
  set_events(write, "Updated", "Service", "Updated the service " + key,
             fmt::format("Failed to update the service {}, {{error}}", key));
  draft.plan.stage().push_back(std::move(write));
}

bool is_anothers(const Draft& draft, const ray::RayCluster& cluster) {
  const auto* owner = cluster.meta.controller_owner();
  return selects_cluster(draft.spec()) || (owner && owner->uid != draft.job().meta.uid);
}

bool cluster_gone(Draft& draft) {
  if (!draft.seen.cluster || is_anothers(draft, *draft.seen.cluster)) return true;
  if (draft.seen.cluster->meta.deleting) return false;
  if (!log_is_kept(draft)) return false;
  auto write = remove(ray::kRayClusters, draft.seen.cluster->meta, "cluster");
  const auto key = write.key.to_string();
  set_events(write, "Deleted", "RayCluster", "Deleted cluster " + key,
             fmt::format("Failed to delete cluster {}: {{error}}", key));
  draft.plan.stage().push_back(std::move(write));
  return false;
}

bool submitter_gone(Draft& draft) {
  const auto mode = submission_mode(draft.spec());
  if (mode == Mode::Http || mode == Mode::Sidecar || !draft.seen.submitter) return true;
  if (draft.seen.submitter->meta.deleting) return false;
  auto write = remove(kube::kJobs, draft.seen.submitter->meta, "submitter");
  write.propagation = kube::Propagation::Background;
  const auto key = write.key.to_string();
  set_events(write, "Deleted", "RayJobSubmitter", "Deleted submitter K8s Job " + key,
             fmt::format("Failed to delete submitter K8s Job {}: {{error}}", key));
  // Beside the cluster's.
  if (draft.plan.stages.empty()) draft.plan.stage();
  draft.plan.stages.back().push_back(std::move(write));
  return false;
}

void suspend_workers(Draft& draft) {
  const auto& cluster = *draft.seen.cluster;
  // A JSON patch, index by index: the user's groups stay as they are, number texts and all.
  JsonArray operations;
  operations.push_back({{"op", "test"}, {"path", "/metadata/uid"}, {"value", cluster.meta.uid}});
  for (std::size_t i = 0; i < cluster.spec.workerGroupSpecs.size(); ++i) {
    const auto& group = cluster.spec.workerGroupSpecs[i];
    operations.push_back({{"op", "test"},
                          {"path", fmt::format("/spec/workerGroupSpecs/{}/groupName", i)},
                          {"value", group.groupName}});
    operations.push_back({{"op", "add"},
                          {"path", fmt::format("/spec/workerGroupSpecs/{}/suspend", i)},
                          {"value", true}});
  }
  const auto key = cluster.meta.key.to_string();
  kube::Write write{.kind = kube::WriteKind::Patch,
                    .resource = ray::kRayClusters,
                    .key = cluster.meta.key,
                    .body = std::move(operations),
                    .patch_type = kube::PatchType::Json,
                    .lane = "cluster",
                    .why = "a deletion policy asks for it"};
  set_events(
      write, "Updated", "RayCluster",
      fmt::format("Set the `suspend` field to true for all worker groups in cluster {}", key),
      fmt::format("Failed to suspend worker groups in cluster {}: {{error}}", key));
  draft.plan.stage().push_back(std::move(write));
}

void delete_self(Draft& draft) {
  auto write = remove(ray::kRayJobs, draft.job().meta, "self");
  const auto key = draft.seen.key().to_string();
  set_events(write, "Deleted", "RayJob", "Deleted RayJob " + key,
             fmt::format("Failed to delete RayJob {}: {{error}}", key));
  write.why = "a deletion policy asks for it";
  draft.plan.stage().push_back(std::move(write));
}

kube::Write finalizer_write(const ray::RayJob& job, bool present) {
  return set_finalizer(ray::kRayJobs, job.meta, ray::kFinalizerRayJob, present);
}

kube::Write status_write(const ray::RayJob& job, const ray::RayJobStatus& status) {
  return update_status(ray::kRayJobs, job.meta, ray::part_to_json(job.status),
                       ray::part_to_json(status));
}

}  // namespace manta::controllers::rayjob
