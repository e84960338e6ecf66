// The kuberay_* families: what exists, read from the caches at each scrape, and how long things
// took, noted when they happened. Source: spec/08 §2.
#pragma once

#include "kube/object.h"
#include "operator/metrics/page.h"
#include "ray/types.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace manta::operator_ {

/// What the caches hold now.
struct RayObjects {
  std::vector<std::shared_ptr<const ray::RayCluster>> clusters = {};
  std::vector<std::shared_ptr<const ray::RayJob>> jobs = {};
  std::vector<std::shared_ptr<const ray::RayService>> services = {};
};
void write_ray_objects(MetricsPage& page, const RayObjects& objects);

/// Durations, each kept until its object is gone.
class RayDurations {
 public:
  void cluster_provisioned(const kube::ObjectMeta& cluster, double seconds);
  /// `retry_count`: how often the job had failed before.
  void job_ended(const kube::ObjectMeta& job, std::string_view deployment_status, int retry_count,
                 double seconds);
  /// How many series that removed, of every uid that had this name.
  std::size_t forget_cluster(const kube::ObjectKey& key) { return clusters_.erase_all(key); }
  std::size_t forget_job(const kube::ObjectKey& key) { return jobs_.erase_all(key); }

  void write_to(MetricsPage& page) const;

 private:
  struct Gauge {
    std::map<kube::ObjectKey, std::map<std::string, double>> series = {};  // by object, by labels
    std::size_t erase_all(const kube::ObjectKey& key);
    void write_to(MetricsPage& page) const;
  };
  Gauge clusters_ = {};
  Gauge jobs_ = {};
};

}  // namespace manta::operator_
