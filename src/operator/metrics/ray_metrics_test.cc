#include "operator/metrics/ray_metrics.h"

#include "operator/metrics/duration_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

using std::chrono::seconds;

template <class T>
std::shared_ptr<T> object(std::string name, std::string uid) {
  auto made = std::make_shared<T>();
  made->meta.key = {"ns", std::move(name)};
  made->meta.uid = std::move(uid);
  return made;
}

std::vector<std::string> lines_of(const std::string& page) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  for (auto end = page.find('\n'); end != std::string::npos; end = page.find('\n', from)) {
    if (page[from] != '#') lines.push_back(page.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}
std::vector<std::string> lines_of(const RayObjects& objects) {
  MetricsPage page(MetricsFormat::Text);
  write_ray_objects(page, objects);
  return lines_of(std::move(page).finish());
}
std::vector<std::string> lines_of(const RayDurations& durations) {
  MetricsPage page(MetricsFormat::Text);
  durations.write_to(page);
  return lines_of(std::move(page).finish());
}
using Lines = std::vector<std::string>;

TEST(RayMetrics, Clusters) {
  RayObjects objects;
  auto a = object<ray::RayCluster>("a", "u1");
  a->meta.labels["ray.io/originated-from-crd"] = "RayJob";
  a->status.conditions.push_back({.type = "RayClusterProvisioned", .status = "True"});
  objects.clusters = {a, object<ray::RayCluster>("b", "u2")};
  EXPECT_EQ(
      lines_of(objects),
      (Lines{
          R"(kuberay_cluster_condition_provisioned{condition="true",name="a",namespace="ns",uid="u1"} 1)",
          R"(kuberay_cluster_condition_provisioned{condition="false",name="b",namespace="ns",uid="u2"} 1)",
          R"(kuberay_cluster_info{name="a",namespace="ns",owner_kind="RayJob",uid="u1"} 1)",
          R"(kuberay_cluster_info{name="b",namespace="ns",owner_kind="None",uid="u2"} 1)"}));
}

TEST(RayMetrics, JobsAndServices) {
  RayObjects objects;
  auto job = object<ray::RayJob>("j", "u1");
  auto young = object<ray::RayJob>("k", "u2");
  job->status.jobDeploymentStatus = "Running";
  objects.jobs = {job, young};
  auto service = object<ray::RayService>("s", "u3");
  service->status.conditions = {{.type = "Ready", .status = "True"},
                                {.type = "UpgradeInProgress", .status = "False"}};
  objects.services = {service};
  EXPECT_EQ(
      lines_of(objects),
      (Lines{
          R"(kuberay_job_deployment_status{deployment_status="Running",name="j",namespace="ns",uid="u1"} 1)",
          R"(kuberay_job_deployment_status{deployment_status="",name="k",namespace="ns",uid="u2"} 1)",
          R"(kuberay_job_info{name="j",namespace="ns",uid="u1"} 1)",
          R"(kuberay_job_info{name="k",namespace="ns",uid="u2"} 1)",
          R"(kuberay_service_condition_ready{condition="true",name="s",namespace="ns",uid="u3"} 1)",
          R"(kuberay_service_condition_upgrade_in_progress{condition="false",name="s",namespace="ns",uid="u3"} 1)",
          R"(kuberay_service_info{name="s",namespace="ns",uid="u3"} 1)"}));
}

TEST(RayDurations, EndWithTheirObject) {
  RayDurations durations;
  kube::ObjectMeta one{.key = {"ns1", "cluster1"}, .uid = "u1"};
  kube::ObjectMeta two{.key = {"ns2", "cluster2"}, .uid = "u2"};
  durations.cluster_provisioned(one, 30);
  durations.cluster_provisioned(two, 40);
  one.uid = "u1b";  // made again under its name
  durations.cluster_provisioned(one, 50);
  EXPECT_EQ(durations.forget_cluster({"ns1", ""}), 0u);
  EXPECT_EQ(durations.forget_cluster({"cluster2", "ns2"}), 0u);
  EXPECT_EQ(durations.forget_cluster({"ns1", "cluster1"}), 2u);
  EXPECT_EQ(
      lines_of(durations),
      (Lines{
          R"(kuberay_cluster_provisioned_duration_seconds{name="cluster2",namespace="ns2",uid="u2"} 40)"}));
}

// What the runtime would do: plan, write a status, plan again.
class Durations : public testing::Test {
 protected:
  Json cluster(bool provisioned) const {
    return *parse_json(fmt::format(
        R"({{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{{"name":"c","namespace":"ns","uid":"u","resourceVersion":"{}","creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{}},"status":{{"conditions":[{{"type":"RayClusterProvisioned","status":"{}"}}]}}}})",
        revision++, provisioned ? "True" : "False"));
  }
  Json job(std::string_view status, int failed, std::string_view uid = "u") const {
    return *parse_json(fmt::format(
        R"({{"apiVersion":"ray.io/v1","kind":"RayJob","metadata":{{"name":"j","namespace":"ns","uid":"{}","resourceVersion":"{}"}},"spec":{{}},"status":{{"jobDeploymentStatus":"{}","failed":{},"startTime":"2026-01-01T00:00:00Z"}}}})",
        uid, revision++, status, failed));
  }
  void see(kube::CacheBase& cache, const Json& object) {
    cache.observe(object);
    watch.planned(cache.resource().kind == "RayJob" ? "rayjob" : "raycluster", kube::key_of(object),
                  {});
  }
  void write(kube::CacheBase& cache, const Json& object) {
    cache.observe(object);
    const kube::Write write{.kind = kube::WriteKind::Update,
                            .resource = cache.resource(),
                            .key = kube::key_of(object),
                            .subresource = "status"};
    const auto controller = cache.resource().kind == "RayJob" ? "rayjob" : "raycluster";
    watch.wrote(controller, write, object);
    watch.planned(controller, kube::key_of(object), {});
  }
  void lose(kube::CacheBase& cache, const kube::ObjectKey& key) {
    cache.observe_gone(key, "u");
    watch.planned(cache.resource().kind == "RayJob" ? "rayjob" : "raycluster", key, {});
  }

  mutable int revision = 1;
  kube::Cache<ray::RayCluster> clusters{ray::kRayClusters, ray::parse_ray_cluster};
  kube::Cache<ray::RayJob> jobs{ray::kRayJobs, ray::parse_ray_job};
  RayDurations durations;
  DurationWatch watch{clusters, jobs, durations,
                      [] { return *parse_rfc3339("2026-01-01T00:01:00Z"); }, nullptr};
};

const Lines kProvisioned = {
    R"(kuberay_cluster_provisioned_duration_seconds{name="c",namespace="ns",uid="u"} 60)"};

TEST_F(Durations, AClusterBecomesProvisioned) {
  see(clusters, cluster(false));
  write(clusters, cluster(false));
  EXPECT_EQ(lines_of(durations), Lines{});
  write(clusters, cluster(true));
  EXPECT_EQ(lines_of(durations), kProvisioned);
  lose(clusters, {"ns", "c"});
  EXPECT_EQ(lines_of(durations), Lines{});
}

TEST_F(Durations, AClusterThatWasProvisionedAlreadyDoesNot) {
  see(clusters, cluster(true));
  write(clusters, cluster(true));
  EXPECT_EQ(lines_of(durations), Lines{});
}

TEST_F(Durations, EachAttemptOfAJobHasItsOwn) {
  see(jobs, job("Running", 0));
  write(jobs, job("Retrying", 1));
  write(jobs, job("Running", 1));
  write(jobs, job("Retrying", 2));
  write(jobs, job("Running", 2));
  write(jobs, job("Complete", 2));
  write(jobs, job("Complete", 2));
  const auto line = [](const char* status, int count) {
    return fmt::format(
        R"(kuberay_job_execution_duration_seconds{{job_deployment_status="{}",name="j",namespace="ns",retry_count="{}",uid="u"}} 60)",
        status, count);
  };
  EXPECT_EQ(lines_of(durations),
            (Lines{line("Complete", 2), line("Retrying", 0), line("Retrying", 1)}));
  lose(jobs, {"ns", "j"});
  EXPECT_EQ(lines_of(durations), Lines{});
}

TEST_F(Durations, OtherStatesOfAJobHaveNone) {
  see(jobs, job("Initializing", 0));
  for (const auto* status : {"Running", "Suspending", "Suspended", "Waiting", "ValidationFailed"})
    write(jobs, job(status, 0));
  EXPECT_EQ(lines_of(durations), Lines{});
}

// 10,000 RayJobs come and go.
TEST_F(Durations, PF_03) {
  for (int i = 0; i < 10'000; ++i) {
    const auto uid = std::to_string(i);
    see(jobs, job("Running", 0, uid));
    write(jobs, job("Complete", 0, uid));
    ASSERT_EQ(lines_of(durations).size(), 1u);
    jobs.observe_gone({"ns", "j"}, uid);
    watch.planned("rayjob", {"ns", "j"}, {});
  }
  EXPECT_EQ(lines_of(durations), Lines{});
  EXPECT_EQ(lines_of(RayObjects{.jobs = jobs.list("")}), Lines{});
}

}  // namespace
}  // namespace manta::operator_
