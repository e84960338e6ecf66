#include "operator/world.h"

#include "controllers/batchscheduler/gang.h"
#include "controllers/mtls/plan.h"
#include "controllers/raycluster/objects.h"
#include "controllers/raycluster/pods.h"
#include "controllers/rayservice/gateway_api.h"
#include "operator/bare_views.h"
#include "operator/ray_views.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::operator_ {
namespace {

using controllers::raycluster::kRoutes;

}  // namespace

World::World(const std::string& namespace_, const controllers::Settings& settings)
    : clusters(ray::kRayClusters,
               settings.cluster_gates.replicas_owner ? project_cluster_with_owner : project_cluster,
               {.namespace_ = namespace_}),
      jobs(ray::kRayJobs, project_job, {.namespace_ = namespace_}),
      ray_services(ray::kRayServices, ray::parse_ray_service, {.namespace_ = namespace_}),
      pods(kube::kPods,
           settings.cluster_gates.quota_condition ? project_gated_pod : project_ray_pod,
           {.namespace_ = namespace_,
            .label_selector = std::string(controllers::raycluster::kRayPods)}),
      submitter_pods(
          kube::kPods, kube::project_pod,
          {.namespace_ = namespace_,
           .label_selector = fmt::format("{}={}", ray::kLabelOriginCrd, ray::kKindRayJob)}),
      services(kube::kServices,
               settings.cluster_gates.follow_edits || settings.service_gates.inherit_service_meta
                   ? project_whole_service
                   : kube::project_service,
               {.namespace_ = namespace_}),
      secrets(namespace_, clusters, settings.build.mtls && settings.cert_manager),
      service_accounts(kube::kServiceAccounts, project_bare, {.namespace_ = namespace_}),
      roles(kube::kRoles, project_bare, {.namespace_ = namespace_}),
      role_bindings(kube::kRoleBindings, project_bare, {.namespace_ = namespace_}),
      batch_jobs(kube::kJobs, kube::project_job,
                 {.namespace_ = namespace_,
                  .label_selector = fmt::format("{}={}", ray::kLabelCreatedBy, ray::kCreatedBy)}),
      ingresses(kube::kIngresses, kube::project_spec, {.namespace_ = namespace_}),
      claims(kube::kPersistentVolumeClaims, project_claim, {.namespace_ = namespace_}),
      endpoint_slices(
          kube::kEndpointSlices, kube::project_endpoint_slice,
          {.namespace_ = namespace_, .label_selector = std::string(kube::kLabelServiceName)}),
      scheduler(settings.build.scheduler),
      given_names(clusters, ray_services) {
  pods.index_label(std::string(ray::kLabelCluster));
  submitter_pods.index_label(std::string(ray::kLabelOriginCrName));
  services.index_label(std::string(ray::kLabelCluster));
  services.index_label(std::string(ray::kLabelHeadlessWorkerService));
  batch_jobs.index_label(std::string(ray::kLabelCluster));
  clusters.index_label(std::string(ray::kLabelOriginCrName));
  services.index_label(std::string(ray::kLabelOriginCrName));
  endpoint_slices.index_label(std::string(kube::kLabelServiceName));
  services.keep_only([this](const Json& service) { return given_names.concerns(service); });
  ingresses.keep_only(concerns_head);
  endpoint_slices.keep_only(
      [this](const Json& slice) { return given_names.concerns_serving(slice); });
  for (kube::CacheBase* cache : std::initializer_list<kube::CacheBase*>{
           &clusters, &jobs, &ray_services, &pods, &submitter_pods, &services, &secrets.labelled,
           &secrets.named, &service_accounts, &roles, &role_bindings, &batch_jobs, &ingresses,
           &claims, &endpoint_slices})
    caches.add(*cache);
  if (settings.cron_jobs) {
    jobs.index_label(std::string(ray::kLabelCronJobName));
    cron_jobs.emplace(ray::kRayCronJobs, ray::parse_ray_cron_job,
                      kube::CacheScope{.namespace_ = namespace_});
    caches.add(*cron_jobs);
  }
  if (settings.network_policies) {
    policies.emplace(kube::kNetworkPolicies, kube::project_spec,
                     kube::CacheScope{.namespace_ = namespace_});
    policies->index_label(std::string(ray::kLabelCluster));
    caches.add(*policies);
  }
  if (settings.openshift_routes) {
    routes.emplace(kRoutes, kube::project_meta, kube::CacheScope{.namespace_ = namespace_});
    routes->index_label(std::string(ray::kLabelCluster));
    caches.add(*routes);
  }
  // A scheduler that is not installed must not keep everything else waiting. BS-05
  const kube::CacheScope perhaps{.namespace_ = namespace_, .may_be_missing = true};
  if (settings.incremental_upgrade) {
    gateways.emplace(controllers::rayservice::kGateways, kube::project_spec, perhaps);
    caches.add(*gateways);
    http_routes.emplace(controllers::rayservice::kHttpRoutes, kube::project_spec, perhaps);
    caches.add(*http_routes);
  }
  if (const auto* resource = controllers::batchscheduler::pod_groups_of(scheduler)) {
    pod_groups.emplace(*resource, kube::project_spec, perhaps);
    caches.add(*pod_groups);
  }
  if (scheduler == ray::BatchScheduler::KubernetesWas) {
    workloads.emplace(controllers::batchscheduler::kWorkloads, kube::project_spec, perhaps);
    caches.add(*workloads);
  }
  if (settings.build.mtls && settings.cert_manager) {
    issuers.emplace(controllers::mtls::kIssuers, kube::project_meta, perhaps);
    caches.add(*issuers);
    certificates.emplace(controllers::mtls::kCertificates, kube::project_spec, perhaps);
    caches.add(*certificates);
  }
}

std::vector<kube::CacheBase*> World::needed_before(const kube::CacheBase& cache) {
  if (&cache == &services || &cache == &endpoint_slices) return {&clusters, &ray_services};
  return {};
}

}  // namespace manta::operator_
