#include "operator/metrics/duration_watch.h"

#include "base/log.h"

#include <algorithm>

namespace manta::operator_ {
namespace {

constexpr std::string_view kClusterController = "raycluster";
constexpr std::string_view kJobController = "rayjob";

bool is_provisioned(const ray::RayCluster& cluster) {
  return std::ranges::any_of(cluster.status.conditions, [](const ray::Condition& condition) {
    return condition.type == "RayClusterProvisioned" && condition.status == "True";
  });
}

bool is_over(std::string_view deployment_status) {
  return deployment_status == "Complete" || deployment_status == "Failed";
}

double seconds_since(Time then, Time now) {
  return std::chrono::duration<double>(now - then).count();
}

void log_cleanup(std::string_view what, const kube::ObjectKey& key, std::size_t count) {
  if (count == 0) return;
  log::info(what, {{"logger", "metrics"},
                   {"name", key.name},
                   {"namespace", key.namespace_},
                   {"numCleanedUpMetrics", count}});
}

}  // namespace

void DurationWatch::started(std::string_view controller) {
  if (next_) next_->started(controller);
}
void DurationWatch::queued(std::string_view controller, const kube::ObjectKey& key) {
  if (next_) next_->queued(controller, key);
}
void DurationWatch::began(std::string_view controller, const kube::ObjectKey& key) {
  if (next_) next_->began(controller, key);
}
void DurationWatch::ended(std::string_view controller, const kube::ObjectKey& key,
                          kube::PassEnd end) {
  if (next_) next_->ended(controller, key, end);
}

void DurationWatch::planned(std::string_view controller, const kube::ObjectKey& key,
                            Duration took) {
  if (next_) next_->planned(controller, key, took);
  if (controller == kClusterController) {
    const auto cluster = clusters_.get(key);
    if (cluster && !is_provisioned(*cluster))
      unprovisioned_[key] = cluster->meta.uid;
    else
      unprovisioned_.erase(key);
    if (!cluster)
      log_cleanup("Cleaned up expired RayCluster metric", key, durations_.forget_cluster(key));
  } else if (controller == kJobController) {
    const auto job = jobs_.get(key);
    if (job && !is_over(job->status.jobDeploymentStatus))
      unfinished_[key] = {job->meta.uid, job->status.jobDeploymentStatus,
                          job->status.failed.value_or(0)};
    else
      unfinished_.erase(key);
    if (!job) log_cleanup("Cleaned up expired rayJob metric", key, durations_.forget_job(key));
  }
}

void DurationWatch::wrote(std::string_view controller, const kube::Write& write,
                          const Result<Json>& answer) {
  if (next_) next_->wrote(controller, write, answer);
  if (!answer || write.subresource != "status") return;
  if (controller == kClusterController && write.resource == ray::kRayClusters)
    cluster_written(*answer);
  if (controller == kJobController && write.resource == ray::kRayJobs) job_written(*answer);
}

void DurationWatch::cluster_written(const Json& object) {
  const auto before = unprovisioned_.find(kube::key_of(object));
  if (before == unprovisioned_.end()) return;
  const auto cluster = ray::parse_ray_cluster(object);
  if (!cluster || cluster->meta.uid != before->second || !is_provisioned(*cluster)) return;
  unprovisioned_.erase(before);
  durations_.cluster_provisioned(cluster->meta, seconds_since(cluster->meta.created, clock_()));
}

void DurationWatch::job_written(const Json& object) {
  const auto before = unfinished_.find(kube::key_of(object));
  if (before == unfinished_.end()) return;
  const auto job = ray::parse_ray_job(object);
  if (!job || job->meta.uid != before->second.uid) return;
  const auto& status = job->status.jobDeploymentStatus;
  if (status == before->second.deployment_status || (!is_over(status) && status != "Retrying"))
    return;
  const auto was = std::move(before->second);
  unfinished_.erase(before);
  if (!job->status.startTime) return;  // it never started
  durations_.job_ended(job->meta, status, was.failed,
                       seconds_since(*job->status.startTime, clock_()));
}

}  // namespace manta::operator_
