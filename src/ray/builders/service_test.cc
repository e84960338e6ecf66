#include "ray/builders/service.h"

#include "ray/builders/access.h"
#include "ray/builders/children.h"
#include "ray/builders/edit.h"
#include "ray/builders/ingress.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

RayCluster cluster_with(std::string_view spec) {
  Json object = parse_json(R"({"metadata": {"name": "demo", "namespace": "ray", "uid": "u-1"},
                               "spec": )" +
                           std::string(spec) + "}")
                    .value();
  return parse_ray_cluster(object).value();
}

std::string ports_of(const Json& service) {
  std::string text;
  for (const Json& port : array_at(service, {"spec", "ports"}))
    text +=
        std::string(string_at(port, {"name"})) + ":" + std::to_string(int_at(port, {"port"})) + " ";
  return text;
}

TEST(HeadService, UsualPortsAndHeadless) {
  const Json service = build_head_service(cluster_with("{}"), {});
  EXPECT_EQ(ports_of(service),
            "client:10001 dashboard:8265 gcs-server:6379 metrics:8080 serve:8000 ");
  EXPECT_EQ(string_at(service, {"spec", "clusterIP"}), "None");
  EXPECT_TRUE(bool_at(service, {"spec", "publishNotReadyAddresses"}));
  BuildOptions with_ip;
  with_ip.head_cluster_ip_service = true;
  EXPECT_EQ(find(build_head_service(cluster_with("{}"), with_ip), {"spec", "clusterIP"}), nullptr);
}

TEST(HeadService, DeclaredPortsReplaceTheUsualOnes) {
  const RayCluster cluster =
      cluster_with(R"({"headGroupSpec": {"template": {"spec": {"containers": [
      {"ports": [{"containerPort": 7070}, {"name": "a", "containerPort": 1},
                 {"name": "a", "containerPort": 2}]},
      {"ports": [{"name": "of-a-sidecar", "containerPort": 3}]}]}}}})");
  EXPECT_EQ(ports_of(build_head_service(cluster, {})), "7070-port:7070 a:2 metrics:8080 ");
  EXPECT_EQ(dashboard_port(cluster.spec), 8265);
}

// The head listens where its parameters say, whoever's Service leads there. SEEN-09
TEST(HeadService, UnderItsGateLeadsWhereTheParametersMoveThePorts) {
  const auto cluster = cluster_with(R"({"headGroupSpec": {
      "rayStartParams": {"dashboard-port": "8290"},
      "template": {"spec": {"containers": [{"name": "ray-head",
          "ports": [{"name": "dashboard", "containerPort": 8265}]}]}}}})");
  RayService service;
  service.meta.key = {"ray", "s"};
  RayJob job;
  job.meta.key = {"ray", "j"};
  const BuildOptions gate{.ports_from_params = true};
  const auto wanted = "dashboard:8290 metrics:8080 ";
  EXPECT_EQ(ports_of(build_head_service(cluster, gate)), wanted);
  EXPECT_EQ(ports_of(build_head_service(service, cluster, gate)), wanted);
  EXPECT_EQ(ports_of(build_head_service(job, cluster, gate)), wanted);
}

TEST(HeadService, KeepsTheProtocolOfAContainerPort) {  // SEEN-10
  const Json service = build_head_service(
      cluster_with(R"({"headGroupSpec": {"template": {"spec": {"containers": [{"ports": [
          {"name": "quic", "containerPort": 9, "protocol": "UDP"},
          {"name": "web", "containerPort": 8, "protocol": "TCP"}]}]}}}})"),
      {});
  EXPECT_EQ(canonical_json(*find(service, {"spec", "ports"})),
            R"([{"appProtocol":"tcp","name":"metrics","port":8080},)"
            R"({"name":"quic","port":9,"protocol":"UDP"},)"
            R"({"appProtocol":"tcp","name":"web","port":8}])");
}

TEST(HeadIngress, EmptyTextsAreLeftOut) {  // SEEN-15
  RayCluster cluster = cluster_with(R"({"headGroupSpec": {"ingressOptions": {"host": ""}}})");
  cluster.meta.annotations = {{"kubernetes.io/ingress.class", ""}};
  const Json ingress = build_head_ingress(cluster);
  EXPECT_EQ(find(ingress, {"spec", "ingressClassName"}), nullptr);
  EXPECT_EQ(find(array_at(ingress, {"spec", "rules"}).at(0), {"host"}), nullptr);
}

TEST(ServeService, NeedsAPortForServe) {
  const char* no_serve = R"({"headGroupSpec": {"template": {"spec": {"containers": [
      {"ports": [{"name": "dashboard", "containerPort": 8265}]}]}}}})";
  const auto refused = build_serve_service(cluster_with(no_serve));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("port named 'serve'"), std::string::npos);
  RayService service;
  service.meta.key = {"ray", "shop"};
  EXPECT_FALSE(build_serve_service(service, cluster_with(no_serve)).has_value());
  service.spec.serveService =
      parse_json(R"({"spec": {"ports": [{"name": "mine", "port": 80}]}})").value();
  EXPECT_EQ(ports_of(build_serve_service(service, cluster_with(no_serve)).value()), "mine:80 ");
}

TEST(ServeService, OfARayServiceTakesTheUsersPortOfTheSameName) {
  RayService service;
  service.meta.key = {"ray", "shop"};
  service.spec.serveService =
      parse_json(R"({"metadata": {"name": "front", "labels": {"a": "b"}}, "spec": {"ports": [
          {"name": "serve", "port": 80, "targetPort": 8000}, {"name": "other", "port": 9}]}})")
          .value();
  const Json built = build_serve_service(service, cluster_with("{}")).value();
  EXPECT_EQ(string_at(built, {"metadata", "name"}), "front");
  EXPECT_EQ(string_at(built, {"metadata", "labels", "a"}), "b");
  EXPECT_EQ(ports_of(built), "serve:80 ");
  EXPECT_EQ(string_at(built, {"spec", "selector", "ray.io/serve"}), "true");
}

TEST(AuthSecret, HoldsTheTokenAndIsMadeWhenNobodyElseHasOne) {
  std::array<std::uint8_t, 32> random{};
  random.fill(0xff);
  const Json secret = build_auth_secret(cluster_with("{}"), random);
  EXPECT_EQ(string_at(secret, {"stringData", "auth_token"}),
            "//////////////////////////////////////////8=");
  EXPECT_FALSE(needs_auth_secret(cluster_with("{}").spec));
  EXPECT_TRUE(needs_auth_secret(cluster_with(R"({"authOptions": {}})").spec));
  for (const auto* spec : {R"({"authOptions": {"mode": "disabled"}})",
                           R"({"authOptions": {"mode": "token", "secretName": "s"}})",
                           R"({"authOptions": {"mode": "token", "enableK8sTokenAuth": true}})"})
    EXPECT_FALSE(needs_auth_secret(cluster_with(spec).spec)) << spec;
}

TEST(GcsClaim, SaysHowTheLiveOneDiffers) {
  const RayCluster cluster = cluster_with(R"({"gcsFaultToleranceOptions": {"backend": "rocksdb",
      "storage": {"size": "2Gi", "storageClassName": "fast"}}})");
  EXPECT_TRUE(needs_gcs_claim(cluster));
  EXPECT_EQ(gcs_claim_drift(cluster, build_gcs_claim(cluster)), "");
  const Json live = parse_json(R"({"spec": {"accessModes": ["ReadWriteMany"],
      "resources": {"requests": {"storage": "1Gi"}}}})")
                        .value();
  EXPECT_EQ(gcs_claim_drift(cluster, live),
            "requested size 2Gi != current 1Gi; storageClassName fast != current <default>; "
            "accessModes [ReadWriteOnce] != current [ReadWriteMany]");
}

TEST(CronJob, OneTickMakesOneJob) {
  RayCronJob cron;
  cron.meta.key = {"ray", "nightly"};
  cron.spec.jobTemplate.entrypoint = "python a.py";
  const Time tick = parse_rfc3339("2026-08-19T13:21:00Z").value();
  const Json job = build_job_for_cron_job(cron, tick);
  EXPECT_EQ(string_at(job, {"metadata", "name"}), "nightly-29785761");
  EXPECT_EQ(string_at(job, {"metadata", "labels", "ray.io/cronjob-name"}), "nightly");
  EXPECT_EQ(string_at(job, {"metadata", "annotations", "ray.io/cronjob-scheduled-timestamp"}),
            "2026-08-19T13:21:00Z");
  EXPECT_EQ(string_at(job, {"spec", "entrypoint"}), "python a.py");
}

}  // namespace
}  // namespace manta::ray
