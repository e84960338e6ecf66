// What the controllers refuse, beyond what the CRDs' schemas do. Pure. The first failing check
// wins; messages are upstream's, byte for byte, since users and their tools search for them, and
// what they lack, the value and what is allowed, follows behind a colon. Each function is one table
// of spec/01 §6; the events and statuses that follow a refusal are the planners'.
//
//   if (auto ok = validate_cluster_spec(cluster.spec, cluster.meta.annotations, gates); !ok)
//     plan.events.push_back(invalid_spec(ok.error().message));
#pragma once

#include "base/result.h"
#include "ray/types.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace manta::ray {

/// The feature gates that decide what is valid. spec/01 §5
struct ValidationGates {
  bool job_deletion_policy = true;    // RayJobDeletionPolicy
  bool incremental_upgrade = true;    // RayServiceIncrementalUpgrade
  bool embedded_gcs_storage = false;  // GCSFaultToleranceEmbeddedStorage
  bool history_server = false;        // RayClusterHistoryServer
  bool network_policy = false;        // RayClusterNetworkPolicy
  bool mtls = false;                  // RayClusterMTLS
  bool sidecar_submitter_restart = false;
  bool selector_suspend = false;     // RJ-25
  bool suspend_with_rules = false;   // SEEN-36
  bool strict_start_params = false;  // SEC-01
};

// ---- RayCluster, spec/01 §6.1
// ----------------------------------------------------------------------

Result<void> validate_cluster_metadata(const kube::ObjectMeta& meta);
/// `annotations`: of the object that holds the spec (the RayJob's for its rayClusterSpec).
Result<void> validate_cluster_spec(const RayClusterSpec& spec, const StringMap& annotations,
                                   const ValidationGates& gates);
/// Only for RayClusters of their own, not for the specs inside RayJobs and RayServices.
Result<void> validate_cluster_upgrade(const RayClusterSpec& spec, const StringMap& labels);
Result<void> validate_cluster_status(const RayClusterStatus& status);
/// Not refused, but worth an event: "restartPolicy for worker groups [a, b] should be …".
std::optional<std::string> autoscaler_v1_warning(const RayClusterSpec& spec);
/// For the webhook: the first worker group whose name an earlier one has.
std::optional<std::size_t> duplicate_worker_group(const RayClusterSpec& spec);
/// What upstream takes and then never settles: Pods of one name are made and deleted in turns.
/// `path`: of the spec. SEEN-04, SEEN-38
std::optional<std::string> worker_group_name_fault(const RayClusterSpec& spec,
                                                   std::string_view path);

// ---- RayJob, spec/01 §6.2
// --------------------------------------------------------------------------

Result<void> validate_job_metadata(const kube::ObjectMeta& meta);
Result<void> validate_job_spec(const RayJobSpec& spec, const StringMap& annotations,
                               const ValidationGates& gates);
Result<void> validate_job_status(const RayJobSpec& spec, const RayJobStatus& status);

// ---- RayService, spec/01 §6.3
// ----------------------------------------------------------------------

Result<void> validate_service_metadata(const kube::ObjectMeta& meta);
Result<void> validate_service_spec(const RayServiceSpec& spec, const StringMap& annotations,
                                   const ValidationGates& gates);
/// Annotation ray.io/initializing-timeout: a Go duration or whole seconds. Absent or "": nothing.
Result<std::optional<Duration>> initializing_timeout(const kube::ObjectMeta& meta);

// ---- RayCronJob, spec/01 §6.5
// ----------------------------------------------------------------------

/// `zone_exists`: whether the time-zone database has a zone of that name.
Result<void> validate_cron_job(std::string_view name, const RayCronJobSpec& spec,
                               const ValidationGates& gates,
                               const std::function<bool(std::string_view)>& zone_exists);

}  // namespace manta::ray
