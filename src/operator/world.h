// The caches of one watched namespace, or of all.
#pragma once

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
  kube::Cache<kube::EndpointSliceView> endpoint_slices;    // of Serve Services
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
  GivenNames given_names;      // of Services, and of their slices
  kube::CacheSet caches = {};  // all of them

  /// What has to be synced for the cache to know which objects to keep.
  std::vector<kube::CacheBase*> needed_before(const kube::CacheBase& cache);
};

}  // namespace manta::operator_
