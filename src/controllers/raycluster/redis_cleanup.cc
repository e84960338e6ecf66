#include "controllers/raycluster/redis_cleanup.h"

#include "controllers/raycluster/pods.h"
#include "controllers/writes.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/gcs_ft.h"
#include "ray/builders/redis_cleanup.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <charconv>

namespace manta::controllers::raycluster {
namespace {

constexpr std::chrono::seconds kDefaultTimeout{300};
constexpr std::string_view kCleanupLane = "cleanup";

Duration cleanup_timeout(const ray::RayCluster& cluster) {
  const auto text = cluster.meta.annotation(ray::kAnnotationGcsFtDeletionTimeout);
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || seconds <= 0)
    return kDefaultTimeout;
  return std::chrono::seconds{seconds};
}

bool is_finished(const kube::JobView& job) {
  return job.true_condition("Complete") || job.true_condition("Failed") ||
         job.true_condition("FailureTarget");
}

kube::Write release(const RayClusterSeen& seen) {
  return set_finalizer(ray::kRayClusters, seen.cluster->meta, ray::kFinalizerRedisCleanup, false);
}

// Once the options are gone, FT-04, the head alone says what it was.
std::string storage_namespace(const RayClusterSeen& seen) {
  if (ray::gcs_store(*seen.cluster) == ray::GcsStore::Redis)
    return fmt::format("\"{}\"", ray::gcs_storage_namespace(*seen.cluster));
  for (const auto& head : pods_of_type(seen.pods, ray::kNodeTypeHead))
    if (const auto name = head->meta.annotation(ray::kAnnotationExternalStorageNamespace);
        !name.empty())
      return fmt::format("\"{}\"", name);
  return "(unknown)";
}

kube::Write release_with_warning(const RayClusterSeen& seen, std::string_view because) {
  auto write = release(seen);
  // For the log, too: where a namespace is being terminated no Event can be made. FT-01
  write.why = fmt::format("{}; Redis storage namespace {} may need manual cleanup", because,
                          storage_namespace(seen));
  write.done_event =
      warning("ForceDeletedStuckCluster", "Cleanup", "Force-removed GCS FT finalizer " + write.why);
  return write;
}

kube::Write create_job(const RayClusterSeen& seen, const Settings& settings) {
  auto write = create(kube::kJobs, ray::build_redis_cleanup_job(*seen.cluster, settings.build),
                      kCleanupLane);
  const auto name = created_key(write.body);
  write.tolerate = {ErrorCode::AlreadyExists};
  write.done_event =
      normal("CreatedRedisCleanupJob", "Create", "Created Redis cleanup Job " + name);
  write.failed_event =
      warning("FailedToCreateRedisCleanupJob", "Create",
              fmt::format("Failed to create Redis cleanup Job {}, {{error}}", name));
  write.why = "the deleted cluster's state is still in Redis";
  return write;
}

kube::Stage delete_ray_pods(const RayClusterSeen& seen) {
  kube::Stage stage;
  for (auto type : {ray::kNodeTypeHead, ray::kNodeTypeWorker})
    for (auto& write :
         delete_all(seen, pods_of_type(seen.pods, type),
                    fmt::format("{},{}={}", all_pods_selector(seen), ray::kLabelNodeType, type),
                    {.lane = std::string(kAllPodsLane),
                     .why = "Redis is cleaned when nothing writes to it any more"}))
      stage.push_back(std::move(write));
  return stage;
}

}  // namespace

bool has_cleanup_finalizer(const RayClusterSeen& seen) {
  return seen.cluster->meta.has_finalizer(ray::kFinalizerRedisCleanup);
}

bool wants_redis_cleanup(const RayClusterSeen& seen, const Settings& settings) {
  return settings.redis_cleanup && ray::gcs_store(*seen.cluster) == ray::GcsStore::Redis;
}

kube::Write add_cleanup_finalizer(const RayClusterSeen& seen) {
  return set_finalizer(ray::kRayClusters, seen.cluster->meta, ray::kFinalizerRedisCleanup, true);
}

kube::Plan plan_redis_cleanup(const RayClusterSeen& seen, const Settings& settings,
                              const kube::PlanContext& context) {
  const auto now = context.now;
  kube::Plan plan;
  // FT-04, FT-05: what no longer asks for the clean-up, or must not, is let go.
  if (!wants_redis_cleanup(seen, settings)) {
    plan.stage().push_back(
        settings.redis_cleanup && ray::gcs_store(*seen.cluster) == ray::GcsStore::None
            ? release_with_warning(seen, "as the RayCluster no longer says which Redis it used")
            : release(seen));
    return plan;
  }
  const auto& meta = seen.cluster->meta;
  // FT-01: no Job can ever be made there.
  if (const auto failure = context.failures.find(kCleanupLane);
      failure != context.failures.end() &&
      failure->second.error.message.find("being terminated") != std::string::npos) {
    plan.stage().push_back(release_with_warning(seen, "as its namespace is being terminated"));
    return plan;
  }
  const auto limit = *meta.deleting + cleanup_timeout(*seen.cluster);
  const bool job_done = !seen.cleanup_jobs.empty() && is_finished(*seen.cleanup_jobs.front());
  // FT-07: the limit counts from the deletion, whatever holds the head up.
  if (now >= limit && !job_done) {
    plan.stage().push_back(
        release_with_warning(seen, fmt::format("after {} due to Redis cleanup timeout",
                                               format_go_duration(now - *meta.deleting))));
    return plan;
  }
  look_again_within(plan, limit - now);
  plan.stages.push_back(delete_ray_pods(seen));
  if (!pods_of_type(seen.pods, ray::kNodeTypeHead).empty()) return plan;
  if (seen.cleanup_jobs.empty())
    plan.stage().push_back(create_job(seen, settings));
  else if (job_done)
    plan.stage().push_back(release(seen));
  return plan;
}

}  // namespace manta::controllers::raycluster
