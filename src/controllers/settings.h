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

/// Our own feature gates for RayJob and RayCronJob, all off by default; docs/differences.md tells
/// what each does. Those that decide what objects look like are in ray::BuildOptions.
struct JobGates {
  bool count_lost_heads = false;    // RJ-04
  bool patience = false;            // RJ-10
  bool stop_at_deadline = false;    // RJ-11
  bool total_deadline = false;      // RJ-17
  bool waiting_window = false;      // RJ-18
  bool selector_suspend = false;    // RJ-25
  bool suspend_with_rules = false;  // SEEN-36
  bool head_init_failure = false;   // RJ-37
  bool keep_log = false;            // RJ-39
  bool reuse_cluster = false;       // RJ-41
  bool latest_tick = false;         // CJ-02
  bool cron_policies = false;       // CJ-07, CJ-08
  bool count_from_edit = false;     // CJ-13
};

/// Our own feature gates for RayCluster, likewise.
struct ClusterGates {
  bool quota_condition = false;      // AS-07
  bool strict_provisioned = false;   // SEEN-03
  bool delete_orphans = false;       // RC-12, SEEN-01
  bool suspend_services = false;     // RC-19
  bool trim_pending = false;         // AS-04
  bool replace_slices = false;       // MH-04
  bool replace_lost_head = false;    // RC-06
  bool worker_backoff = false;       // RC-10
  bool follow_edits = false;         // RC-23, SEEN-07
  bool replicas_owner = false;       // AS-01
  bool strict_start_params = false;  // SEC-01
};

/// Our own feature gates for RayService, likewise.
struct ServiceGates {
  bool drop_unserved = false;         // RS-10
  bool revive = false;                // RS-17
  bool tell_drift = false;            // RS-23
  bool inherit_service_meta = false;  // RS-27
  bool fresh_status = false;          // SEEN-33
  bool delete_idle = false;           // RS-25
  bool shared_token = false;          // SEC-08
};

/// The administrator's rule for a RayJob whose own deletionStrategy says nothing of its end. RJ-12
struct DefaultDeletion {
  std::string policy = {};  // DeleteCluster or DeleteSelf
  std::chrono::seconds after_end = {};
};

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
  JobGates job_gates = {};
  ClusterGates cluster_gates = {};
  ServiceGates service_gates = {};

  // Environment variables. Source: spec/07 §5.
  bool random_pod_delete = false;  // ENABLE_RANDOM_POD_DELETE
  bool redis_cleanup = true;       // ENABLE_GCS_FT_REDIS_CLEANUP
  bool zero_downtime = true;       // ENABLE_ZERO_DOWNTIME
  bool delete_rayjob_cr = false;   // DELETE_RAYJOB_CR_AFTER_JOB_FINISHES
  Duration job_transition_grace = std::chrono::seconds{300};
  /// The administrator set that grace: then a submitter's end bounds its job, too. RJ-05
  bool job_grace_is_set = false;
  Duration job_check_timeout = std::chrono::seconds{300};
  std::optional<DefaultDeletion> job_default_deletion = {};  // RAYJOB_DEFAULT_DELETION_RULE
  /// RAYCLUSTER_LOST_HEAD_WAIT_SECONDS: how long after it was due a head's end is waited for,
  /// before anybody looks whether its Node is still there. RC-06, with its gate
  Duration lost_head_wait = std::chrono::seconds{60};

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
