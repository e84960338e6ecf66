// The manifests that most stories start from.
#pragma once

namespace manta::integration {

/// RayCluster c: a head and group g of two.
inline constexpr const char* kCluster = R"(
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: c}
spec:
  rayVersion: "2.54.0"
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
        - name: ray-head
          image: ray
          resources: {limits: {cpu: "1", memory: 2Gi}}
  workerGroupSpecs:
  - groupName: g
    replicas: 2
    minReplicas: 0
    maxReplicas: 10
    rayStartParams: {}
    template: {spec: {containers: [{name: w, image: ray}]}}
)";

/// Its spec once more, to scale group g: apply() replaces the list of groups as a whole.
inline constexpr const char* kGroup = R"({{spec: {{workerGroupSpecs: [
  {{groupName: g, replicas: {}, minReplicas: 0, maxReplicas: 1000, rayStartParams: {{}},
   template: {{spec: {{containers: [{{name: w, image: ray}}]}}}}}}]}}}})";

/// RayJob j in K8sJobMode on a cluster of its own with one worker.
inline constexpr const char* kJob = R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec:
  entrypoint: python a.py
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    rayVersion: "2.54.0"
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-head
            image: ray
            resources: {limits: {cpu: "1", memory: 2Gi}}
    workerGroupSpecs:
    - groupName: g
      replicas: 1
      minReplicas: 0
      maxReplicas: 10
      rayStartParams: {}
      template: {spec: {containers: [{name: w, image: ray}]}}
)";

}  // namespace manta::integration
