// What the operator's flags, configuration, environment and feature gates decide in planners. Read
// once at start and handed down; planners never look at the environment.
#pragma once

#include "base/time.h"
#include "ray/builders/options.h"
#include "ray/cron.h"
#include "ray/validation.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace manta::controllers {

struct Settings {
  ray::BuildOptions build = {};  // what built objects look like

  // Feature gates. Source: spec/07 §6.
  bool status_conditions = true;           // RayClusterStatusConditions
  bool job_deletion_policy = true;         // RayJobDeletionPolicy
  bool incremental_upgrade = true;         // RayServiceIncrementalUpgrade
  bool cron_jobs = false;                  // RayCronJob
  bool network_policies = false;           // RayClusterNetworkPolicy
  bool embedded_gcs_storage = false;       // GCSFaultToleranceEmbeddedStorage
  bool workload_aware_scheduling = false;  // KubernetesWAS

  // Environment variables. Source: spec/07 §5.
  bool random_pod_delete = false;  // ENABLE_RANDOM_POD_DELETE
  bool redis_cleanup = true;       // ENABLE_GCS_FT_REDIS_CLEANUP
  bool zero_downtime = true;       // ENABLE_ZERO_DOWNTIME
  bool delete_rayjob_cr = false;   // DELETE_RAYJOB_CR_AFTER_JOB_FINISHES
  Duration job_transition_grace = std::chrono::seconds{300};
  Duration job_check_timeout = std::chrono::seconds{300};

  bool use_kubernetes_proxy = false;  // reach Ray's head through the API server
  std::string batch_scheduler =
      {};  // volcano, yunikorn, kai-scheduler, scheduler-plugins; or empty

  // What the API server was found to serve at start. Source: spec/07 §16.
  bool openshift_routes = false;  // Routes instead of Ingresses
  bool cert_manager = false;

  /// Time zones by IANA name, UTC or Local; nothing for an unknown one.
  std::function<std::optional<ray::ZoneOffset>(std::string_view name)> zones = {};

  /// Secret of this process: tokens and suffixes that must not be guessed are derived from it.
  std::string seed = {};
};

/// Those gates that decide what is valid.
ray::ValidationGates validation_gates(const Settings& settings);

}  // namespace manta::controllers
