// The caches of one watched namespace (or of all), and the snapshots that planners get of them.
//
//   World world(namespace_, settings);
//   auto seen = see_ray_cluster(world, key);      // nothing: no such RayCluster
#pragma once

#include "controllers/mtls/plan.h"
#include "controllers/networkpolicy/plan.h"
#include "controllers/raycluster/seen.h"
#include "controllers/raycronjob/plan.h"
#include "controllers/rayjob/seen.h"
#include "controllers/rayservice/seen.h"
#include "controllers/settings.h"
#include "kube/cache.h"
#include "kube/endpoint_slice_view.h"
#include "kube/views.h"
#include "operator/given_names.h"
#include "operator/secrets.h"
#include "ray/types.h"

#include <optional>
#include <string>

namespace manta::operator_ {

struct World {
  World(const std::string& namespace_, const controllers::Settings& settings);

  kube::Cache<ray::RayCluster> clusters;
  kube::Cache<ray::RayJob> jobs;
  kube::Cache<ray::RayService> ray_services;
  std::optional<kube::Cache<ray::RayCronJob>> cron_jobs = {};  // with their gate
  kube::Cache<kube::PodView> pods;                             // Ray's, and those that clean Redis
  kube::Cache<kube::PodView> submitter_pods;                   // of RayJobs
  kube::Cache<kube::ServiceView> services;  // Ray's, and those in the place of one
  Secrets secrets;
  kube::Cache<kube::MetaView> service_accounts;
  kube::Cache<kube::MetaView> roles;
  kube::Cache<kube::MetaView> role_bindings;
  kube::Cache<kube::JobView> batch_jobs;  // the operator's own
  kube::Cache<kube::SpecView> ingresses;  // of heads
  kube::Cache<kube::SpecView> claims;
  kube::Cache<kube::EndpointSliceView> endpoint_slices;    // of those Services
  std::optional<kube::Cache<kube::MetaView>> routes = {};  // on OpenShift

  std::optional<kube::Cache<kube::SpecView>> policies = {};  // with their gate

  // With the gate of incremental upgrades.
  std::optional<kube::Cache<kube::SpecView>> gateways = {};
  std::optional<kube::Cache<kube::SpecView>> http_routes = {};

  // With a batch scheduler that has them.
  std::optional<kube::Cache<kube::SpecView>> pod_groups = {};
  std::optional<kube::Cache<kube::SpecView>> workloads = {};

  // With the gate of mTLS, and cert-manager.
  std::optional<kube::Cache<kube::MetaView>> issuers = {};
  std::optional<kube::Cache<kube::SpecView>> certificates = {};

  ray::BatchScheduler scheduler = ray::BatchScheduler::None;
  GivenNames given_names;      // of Services
  kube::CacheSet caches = {};  // all of them

  /// What has to be synced for the cache to know which objects to keep.
  std::vector<kube::CacheBase*> needed_before(const kube::CacheBase& cache);
};

std::optional<controllers::raycluster::RayClusterSeen> see_ray_cluster(const World& world,
                                                                       const kube::ObjectKey& key);
std::optional<controllers::rayjob::RayJobSeen> see_ray_job(const World& world,
                                                           const kube::ObjectKey& key);

std::optional<controllers::raycronjob::RayCronJobSeen> see_ray_cron_job(const World& world,
                                                                        const kube::ObjectKey& key);

std::optional<controllers::networkpolicy::NetworkPolicySeen> see_network_policies(
    const World& world, const kube::ObjectKey& cluster);

std::optional<controllers::mtls::MtlsSeen> see_mtls(const World& world,
                                                    const kube::ObjectKey& cluster);

std::optional<controllers::rayservice::RayServiceSeen> see_ray_service(const World& world,
                                                                       const kube::ObjectKey& key);

/// Which RayServices a changed object concerns: one of their clusters; what they or their clusters
/// own; the endpoints of one of their Services.
std::vector<kube::ObjectKey> services_of_cluster(const kube::ObjectMeta& cluster);
std::vector<kube::ObjectKey> services_of_dependent(const World& world,
                                                   const kube::ObjectMeta& dependent);
std::vector<kube::ObjectKey> services_of_slice(const World& world, const kube::ObjectMeta& slice);

/// Which RayClusters and RayJobs a changed object concerns.
std::vector<kube::ObjectKey> clusters_of(const kube::ObjectMeta& dependent);
std::vector<kube::ObjectKey> clusters_using_account(const World& world,
                                                    const kube::ObjectMeta& account);
std::vector<kube::ObjectKey> jobs_of_cluster(const World& world, const kube::ObjectMeta& cluster);
/// By owner, or by the name that a PodGroup or Workload not ours keeps from them.
std::vector<kube::ObjectKey> owners_of_gang(const World& world, const kube::Resource& owner,
                                            const kube::ObjectMeta& pod_group);
/// Of a Pod or Service of a RayCluster.
std::vector<kube::ObjectKey> jobs_of_dependent(const World& world,
                                               const kube::ObjectMeta& dependent);
/// The RayJob that made the Pod's cluster, while it is Initializing. Every Pod's every change asks
/// this, so it looks at nothing but owners.
std::vector<kube::ObjectKey> jobs_waiting_for(const World& world, const kube::ObjectMeta& pod);
/// Whose clusters want a Secret.
std::vector<kube::ObjectKey> clusters_of_secret(const World& world, const kube::ObjectMeta& secret);
std::vector<kube::ObjectKey> jobs_of_secret(const World& world, const kube::ObjectMeta& secret);
std::vector<kube::ObjectKey> services_of_secret(const World& world, const kube::ObjectMeta& secret);
/// Whether the API server has said of every Secret that these read whether it is there.
bool knows_secrets(const World& world, const controllers::rayjob::RayJobSeen& seen);
bool knows_secrets(const World& world, const controllers::rayservice::RayServiceSeen& seen);
/// What is to be done about a RayCluster while they are not known: to wait, and to say so.
kube::Plan wait_for_secrets(const World& world, const kube::ObjectKey& cluster, Time now);
/// Of a submitter Pod.
std::vector<kube::ObjectKey> job_of_submitter(const kube::ObjectMeta& pod);

}  // namespace manta::operator_
