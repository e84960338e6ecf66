// Worlds for planner tests: short ways to say what the caches show.
#pragma once

#include "controllers/raycluster/seen.h"
#include "ray/labels.h"

#include <string>

namespace manta::controllers::raycluster::testing {

struct PodSays {
  kube::PodPhase phase = kube::PodPhase::Running;
  kube::RestartPolicy restart = kube::RestartPolicy::Always;
  bool ready = true;
  bool ray_ended = false;
  bool deleting = false;
  Duration age = {};  // at kNow
};

inline const Time kNow{std::chrono::seconds{1'800'000'000}};

/// A Pod of cluster "c" (uid "c-uid").
inline kube::PodView pod(std::string name, std::string_view node_type, std::string_view group,
                         PodSays says = {}) {
  kube::PodView out{.phase = says.phase,
                    .restartPolicy = says.restart,
                    .podIP = "10.0.0.1",
                    .first_container = "ray"};
  out.meta.key = {"ns", std::move(name)};
  out.meta.uid = out.meta.key.name + "-uid";
  out.meta.labels = {{std::string(ray::kLabelCluster), "c"},
                     {std::string(ray::kLabelNodeType), std::string(node_type)},
                     {std::string(ray::kLabelGroup), std::string(group)}};
  out.meta.owners = {{"ray.io/v1", "RayCluster", "c", "c-uid", true, true}};
  if (says.deleting) out.meta.deleting = kNow;
  out.meta.created = kNow - says.age;
  if (node_type == ray::kNodeTypeHead)
    out.meta.annotations = {{std::string(ray::kAnnotationRecreateHash), "h"},
                            {std::string(ray::kAnnotationVersion), "v"}};
  out.ready = kube::ConditionView{.type = "Ready", .status = says.ready ? "True" : "False"};
  kube::ContainerStatusView status{.name = "ray"};
  if (says.ray_ended)
    status.terminated = std::make_shared<kube::TerminatedState>(
        kube::TerminatedState{.exitCode = 1, .reason = "Error"});
  out.containerStatuses = {kube::ContainerStatusView{.name = "sidecar"}, status};
  return out;
}

inline PodPtr share(kube::PodView view) {
  return std::make_shared<const kube::PodView>(std::move(view));
}
inline PodPtr head(PodSays says = {}, std::string name = "c-head") {
  return share(pod(std::move(name), ray::kNodeTypeHead, ray::kHeadGroup, says));
}
inline PodPtr worker(std::string name, PodSays says = {}, std::string_view index = {},
                     std::string_view replica = {}) {
  auto out = pod(std::move(name), ray::kNodeTypeWorker, "g", says);
  if (!index.empty()) out.meta.labels[std::string(ray::kLabelReplicaIndex)] = index;
  if (!replica.empty()) out.meta.labels[std::string(ray::kLabelReplicaName)] = replica;
  return share(std::move(out));
}

inline Json pod_template(std::string_view name) {
  return parse_json(R"({"spec":{"containers":[{"name":")" + std::string(name) +
                    R"(","image":"ray","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}})")
      .value();
}

/// Cluster "c" in "ns" with a group "g".
inline ray::RayCluster cluster(std::int32_t replicas = 2, std::int32_t hosts = 1) {
  ray::RayCluster out;
  out.meta = {.key = {"ns", "c"}, .uid = "c-uid", .resource_version = 7, .generation = 1};
  out.spec.rayVersion = "2.52.0";
  out.spec.headGroupSpec.template_ = pod_template("ray");
  out.spec.workerGroupSpecs = {{.groupName = "g",
                                .replicas = replicas,
                                .minReplicas = 0,
                                .maxReplicas = 10,
                                .template_ = pod_template("ray"),
                                .numOfHosts = hosts}};
  return out;
}

inline std::shared_ptr<const kube::ServiceView> head_service() {
  kube::ServiceView out{.type = "ClusterIP",
                        .clusterIP = "None",
                        .ports = {{.name = "dashboard", .port = 8265, .targetPort = "8265"}}};
  out.meta.key = {"ns", "c-head-svc"};
  return std::make_shared<const kube::ServiceView>(std::move(out));
}

/// A cluster with everything but Pods.
inline RayClusterSeen seen(ray::RayCluster cluster, Pods pods = {}) {
  return {.cluster = std::make_shared<const ray::RayCluster>(std::move(cluster)),
          .pods = std::move(pods),
          .head_services = {head_service()}};
}

}  // namespace manta::controllers::raycluster::testing
