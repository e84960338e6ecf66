#include "controllers/raycronjob/history.h"

#include "controllers/writes.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::controllers::raycronjob {
namespace {

bool has_succeeded(const ray::RayJob& job) { return job.status.jobDeploymentStatus == "Complete"; }
bool has_failed(const ray::RayJob& job) {
  const auto& state = job.status.jobDeploymentStatus;
  return state == "Failed" || state == "ValidationFailed";
}

void add_oldest(Children& out, Children ended, const ray::Opt<ray::Int32>& limit) {
  if (!limit || ended.size() <= static_cast<std::size_t>(*limit)) return;
  std::ranges::sort(
      ended, {}, [](const auto& job) { return std::pair(job->meta.created, job->meta.key.name); });
  out.insert(out.end(), ended.begin(), ended.end() - *limit);
}

}  // namespace

Children active_children(const Children& children) {
  Children out;
  for (const auto& job : children)
    if (!has_succeeded(*job) && !has_failed(*job) && !job->meta.deleting) out.push_back(job);
  return out;
}

std::size_t ended_children(const Children& children) {
  return static_cast<std::size_t>(std::ranges::count_if(
      children, [](const auto& job) { return has_succeeded(*job) || has_failed(*job); }));
}

Children beyond_limits(const Children& children, const ray::RayCronJobSpec& spec) {
  Children succeeded, failed, out;
  for (const auto& job : children) {
    if (job->meta.deleting) continue;
    if (has_succeeded(*job)) succeeded.push_back(job);
    if (has_failed(*job)) failed.push_back(job);
  }
  add_oldest(out, std::move(succeeded), spec.successfulJobsHistoryLimit);
  add_oldest(out, std::move(failed), spec.failedJobsHistoryLimit);
  return out;
}

kube::Write delete_child(const ray::RayJob& child, std::string_view why) {
  auto write = remove(ray::kRayJobs, child.meta, "history");
  const auto key = child.meta.key.to_string();
  write.done_event =
      normal("DeletedRayJob", "Delete", fmt::format("Deleted RayJob {}: {}", key, why));
  write.failed_event = warning("FailedToDeleteRayJob", "Delete",
                               fmt::format("Failed to delete RayJob {}: {{error}}", key));
  write.why = why;
  return write;
}

}  // namespace manta::controllers::raycronjob
