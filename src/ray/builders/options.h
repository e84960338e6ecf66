// Everything operator-wide that decides what a built object looks like. Read once at start;
// builders never look at the environment, so equal inputs give equal objects.
#pragma once

#include "base/json.h"
#include "kube/object.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace manta::ray {

/// Whose metadata Pods carry. spec/06 §1
enum class BatchScheduler { None, Volcano, Yunikorn, Kai, SchedulerPlugins, KubernetesWas };

struct BuildOptions {
  /// Stamped on head Pods and Serve clusters; must differ from every version of KubeRay, whose spec
  /// hashes are taken over another text. spec/03 §8.2
  std::string version = "manta-dev";

  // Environment variables; the names stand in options.cc. spec/03 §1.7
  std::string cluster_domain = "cluster.local";
  bool inject_probes = true;
  bool inject_init_container = true;
  bool login_shell = false;
  bool deterministic_head_pod_name = false;
  bool head_cluster_ip_service = false;

  // Feature gates. spec/03 §1.9
  bool multi_host_indexing = true;
  bool sidecar_submitter_restart = false;
  bool mtls = false;
  bool history_server = false;
  // Ours; docs/differences.md.
  bool scoped_autoscaler_role = false;  // RayClusterScopedAutoscalerRole: AS-05
  bool stable_selectors = false;        // RayClusterStableSelectors: RC-22
  bool http_probes = false;             // RayClusterHttpProbes: RC-39
  bool minimal_redis_cleanup = false;   // RayClusterMinimalRedisCleanup: FT-02, FT-12
  bool ports_from_params = false;       // RayClusterPortsFromParams: SEEN-09
  bool scheduled_resources = false;     // RayClusterScheduledResources: RC-35
  bool verbatim_entrypoint = false;     // RayJobVerbatimEntrypoint: RJ-28
  bool submitter_defaults = false;      // RayJobSubmitterDefaults: RJ-32
  bool plain_job_metadata = false;      // RayJobPlainMetadata: RJ-44
  bool serve_drain = false;             // RayServiceDrainWorkers: RS-24

  BatchScheduler scheduler = BatchScheduler::None;

  // The configuration file. Containers, env entries: verbatim Kubernetes objects.
  JsonArray head_sidecar_containers = {};
  JsonArray worker_sidecar_containers = {};
  JsonArray default_container_envs = {};
  kube::StringMap default_pod_annotations = {};
  kube::StringMap default_pod_labels = {};
};

/// Sets what environment variables decide. Source: spec/03 §1.7.
void read_environment(
    BuildOptions& options,
    const std::function<std::optional<std::string>(std::string_view name)>& lookup);

}  // namespace manta::ray
