// Sees in the runtime's plans and writes when a cluster becomes provisioned and when a job ends.
#pragma once

#include "kube/cache.h"
#include "kube/runtime.h"
#include "operator/metrics/ray_metrics.h"

#include <functional>
#include <map>

namespace manta::operator_ {

/// A duration is noted after the status that tells of it has been written, so that a life of the
/// operator that finds it written already notes nothing. Hands everything on to `next`.
class DurationWatch final : public kube::RuntimeObserver {
 public:
  DurationWatch(const kube::Cache<ray::RayCluster>& clusters, const kube::Cache<ray::RayJob>& jobs,
                RayDurations& durations, std::function<Time()> clock, kube::RuntimeObserver* next)
      : clusters_(clusters),
        jobs_(jobs),
        durations_(durations),
        clock_(std::move(clock)),
        next_(next) {}

  void started(std::string_view controller) override;
  void queued(std::string_view controller, const kube::ObjectKey& key) override;
  void began(std::string_view controller, const kube::ObjectKey& key) override;
  void ended(std::string_view controller, const kube::ObjectKey& key, kube::PassEnd end) override;
  void planned(std::string_view controller, const kube::ObjectKey& key, Duration took) override;
  void wrote(std::string_view controller, const kube::Write& write,
             const Result<Json>& answer) override;

 private:
  struct JobBefore {
    std::string uid = {};
    std::string deployment_status = {};
    int failed = 0;
  };
  void cluster_written(const Json& object);
  void job_written(const Json& object);

  const kube::Cache<ray::RayCluster>& clusters_;
  const kube::Cache<ray::RayJob>& jobs_;
  RayDurations& durations_;
  std::function<Time()> clock_;
  kube::RuntimeObserver* next_;
  // As the last plan saw them: only what may still have its moment.
  std::map<kube::ObjectKey, std::string> unprovisioned_ = {};  // their uids
  std::map<kube::ObjectKey, JobBefore> unfinished_ = {};
};

}  // namespace manta::operator_
