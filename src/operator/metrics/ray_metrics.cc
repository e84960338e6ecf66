#include "operator/metrics/ray_metrics.h"

#include "ray/labels.h"

#include <algorithm>

namespace manta::operator_ {
namespace {

bool is_true(const std::vector<ray::Condition>& conditions, std::string_view type) {
  return std::ranges::any_of(conditions, [&](const ray::Condition& condition) {
    return condition.type == type && condition.status == "True";
  });
}

std::string identity(const kube::ObjectMeta& meta) {
  return metric_labels(
      {{"name", meta.key.name}, {"namespace", meta.key.namespace_}, {"uid", meta.uid}});
}

std::string with_condition(const kube::ObjectMeta& meta, bool holds) {
  return metric_labels({{"condition", holds ? "true" : "false"},
                        {"name", meta.key.name},
                        {"namespace", meta.key.namespace_},
                        {"uid", meta.uid}});
}

// One series of value 1 for each object.
template <class Objects, class Labels>
void write_each(MetricsPage& page, std::string_view family, std::string_view help,
                const Objects& objects, Labels labels_of) {
  page.family(family, MetricType::Gauge, help);
  for (const auto& object : objects) page.sample(labels_of(*object), 1);
}

}  // namespace

void write_ray_objects(MetricsPage& page, const RayObjects& objects) {
  write_each(page, "kuberay_cluster_info", "RayClusters that exist", objects.clusters,
             [](const ray::RayCluster& cluster) {
               const auto origin = cluster.meta.label(ray::kLabelOriginCrd);
               return metric_labels({{"name", cluster.meta.key.name},
                                     {"namespace", cluster.meta.key.namespace_},
                                     {"owner_kind", origin.empty() ? "None" : origin},
                                     {"uid", cluster.meta.uid}});
             });
  write_each(page, "kuberay_cluster_condition_provisioned",
             "Whether all Pods of a RayCluster have been ready once", objects.clusters,
             [](const ray::RayCluster& cluster) {
               return with_condition(cluster.meta,
                                     is_true(cluster.status.conditions, "RayClusterProvisioned"));
             });
  write_each(page, "kuberay_job_info", "RayJobs that exist", objects.jobs,
             [](const ray::RayJob& job) { return identity(job.meta); });
  write_each(page, "kuberay_job_deployment_status", "The state of a RayJob's deployment",
             objects.jobs, [](const ray::RayJob& job) {
               return metric_labels({{"deployment_status", job.status.jobDeploymentStatus},
                                     {"name", job.meta.key.name},
                                     {"namespace", job.meta.key.namespace_},
                                     {"uid", job.meta.uid}});
             });
  write_each(page, "kuberay_service_info", "RayServices that exist", objects.services,
             [](const ray::RayService& service) { return identity(service.meta); });
  write_each(page, "kuberay_service_condition_ready", "Whether a RayService serves",
             objects.services, [](const ray::RayService& service) {
               return with_condition(service.meta, is_true(service.status.conditions, "Ready"));
             });
  write_each(page, "kuberay_service_condition_upgrade_in_progress",
             "Whether a RayService is being upgraded", objects.services,
             [](const ray::RayService& service) {
               return with_condition(service.meta,
                                     is_true(service.status.conditions, "UpgradeInProgress"));
             });
}

void RayDurations::cluster_provisioned(const kube::ObjectMeta& cluster, double seconds) {
  clusters_.series[cluster.key][identity(cluster)] = seconds;
}

void RayDurations::job_ended(const kube::ObjectMeta& job, std::string_view deployment_status,
                             int retry_count, double seconds) {
  jobs_.series[job.key][metric_labels({{"job_deployment_status", deployment_status},
                                       {"name", job.key.name},
                                       {"namespace", job.key.namespace_},
                                       {"retry_count", std::to_string(retry_count)},
                                       {"uid", job.uid}})] = seconds;
}

std::size_t RayDurations::Gauge::erase_all(const kube::ObjectKey& key) {
  const auto found = series.find(key);
  if (found == series.end()) return 0;
  const auto count = found->second.size();
  series.erase(found);
  return count;
}

void RayDurations::Gauge::write_to(MetricsPage& page) const {
  for (const auto& [key, values] : series)
    for (const auto& [labels, value] : values) page.sample(labels, value);
}

void RayDurations::write_to(MetricsPage& page) const {
  page.family("kuberay_cluster_provisioned_duration_seconds", MetricType::Gauge,
              "From a RayCluster's creation until all its Pods were ready");
  clusters_.write_to(page);
  page.family("kuberay_job_execution_duration_seconds", MetricType::Gauge,
              "From a RayJob's start until its attempt ended");
  jobs_.write_to(page);
}

}  // namespace manta::operator_
