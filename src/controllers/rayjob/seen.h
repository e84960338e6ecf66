// What the caches show of one RayJob and of everything that belongs to it.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"
#include "kube/views.h"
#include "ray/types.h"

#include <memory>
#include <optional>
#include <string>

namespace manta::controllers::rayjob {

struct RayJobSeen {
  std::shared_ptr<const ray::RayJob> job = {};
  /// Of status.rayClusterName, in the RayJob's namespace; the user's in clusterSelector mode.
  std::shared_ptr<const ray::RayCluster> cluster = {};
  std::shared_ptr<const kube::ServiceView> cluster_service = {};  // the cluster's head Service
  std::shared_ptr<const kube::ServiceView> service = {};          // <rayjob>-head-svc
  std::shared_ptr<const kube::JobView> submitter = {};            // the Job named like the RayJob
  raycluster::Pods submitter_pods = {};                           // of that Job
  raycluster::Pods pods = {};                                     // all Pods of the cluster
  raycluster::Pods heads = {};                                    // the head Pods among them
  std::shared_ptr<const kube::SecretView> auth_secret = {};       // of a cluster with a token
  /// The newest version of the RayJob with a valid spec that this process has seen. RJ-21
  std::shared_ptr<const ray::RayJob> last_valid = {};
  batchscheduler::GangSeen gang = {};

  const kube::ObjectKey& key() const { return job->meta.key; }
};

enum class Mode { K8sJob, Http, Interactive, Sidecar, Other };
Mode submission_mode(const ray::RayJobSpec& spec);

/// Names a user's RayCluster that the job is to run on; empty when the RayJob makes its own.
std::string selected_cluster(const ray::RayJobSpec& spec);
bool selects_cluster(const ray::RayJobSpec& spec);

/// A head Pod that is Ready and stays.
bool has_ready_head(const RayJobSeen& seen);

/// SUCCEEDED, FAILED, STOPPED.
bool is_terminal_job(std::string_view job_status);
/// Complete, Failed.
bool is_terminal_deployment(std::string_view job_deployment_status);

inline constexpr std::string_view kJobInfoFact = "job-info";
inline constexpr std::string_view kJobLogFact = "job-log";
inline constexpr std::string_view kDashboardTarget = "ray-dashboard";

}  // namespace manta::controllers::rayjob
