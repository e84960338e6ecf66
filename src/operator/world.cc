#include "operator/world.h"

#include "controllers/raycluster/notes.h"
#include "controllers/raycluster/objects.h"
#include "controllers/rayservice/gateway_api.h"
#include "controllers/writes.h"
#include "kube/runtime.h"
#include "operator/bare_views.h"
#include "operator/replicas_owner.h"
#include "ray/builders/access.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace manta::operator_ {
namespace {

using controllers::raycluster::RayClusterSeen;
using controllers::rayjob::RayJobSeen;

using controllers::raycluster::kRoutes;

Result<ray::RayCluster> project_cluster(const Json& object) {
  auto cluster = ray::parse_ray_cluster(object);
  // An old CRD may have pruned the field; 0 hosts must not read as 0 Pods. RC-15
  if (cluster)
    for (auto& group : cluster->spec.workerGroupSpecs)
      group.numOfHosts = std::max(group.numOfHosts, 1);
  return cluster;
}

// AS-01
Result<ray::RayCluster> project_cluster_with_owner(const Json& object) {
  auto cluster = project_cluster(object);
  if (cluster && ray::autoscaling_enabled(cluster->spec))
    cluster->replicas_owner = who_applies_replicas(object);
  return cluster;
}

// RC-23
Result<kube::ServiceView> project_whole_service(const Json& object) {
  auto service = kube::project_service(object);
  if (!service || service->meta.label(ray::kLabelNodeType) != ray::kNodeTypeHead) return service;
  if (auto whole = kube::project_spec(object))
    service->whole = std::make_shared<const kube::SpecView>(std::move(*whole));
  return service;
}

// Of a Pod's labels and annotations only Ray's own decide anything; thousands of Pods are held.
Result<kube::PodView> project_ray_pod(const Json& object) {
  auto pod = kube::project_pod(object);
  if (!pod) return pod;
  const auto unread = [](const auto& entry) {
    return !entry.first.starts_with("ray.io/") || entry.first == ray::kLabelIsRayNode ||
           entry.first == ray::kLabelIdentifier;
  };
  std::erase_if(pod->meta.labels, unread);
  std::erase_if(pod->meta.annotations, unread);
  return pod;
}

// A Pod that an admission controller such as Kueue holds back has nobody's complaint. AS-07, BS-08
Result<kube::PodView> project_gated_pod(const Json& object) {
  auto pod = project_ray_pod(object);
  if (!pod || pod->trouble) return pod;
  std::vector<std::string_view> gates;
  for (const auto& gate : array_at(object, {"spec", "schedulingGates"}))
    gates.push_back(string_at(gate, {"name"}));
  if (!gates.empty())
    pod->trouble = std::make_shared<const std::string>(
        fmt::format("{}: {}", controllers::raycluster::kSchedulingGated, fmt::join(gates, ", ")));
  return pod;
}

bool belongs_to(const kube::ObjectMeta& meta, const kube::ObjectMeta& owner) {
  const auto* controller = meta.controller_owner();
  return controller && controller->uid == owner.uid;
}

// Pods that somebody made by hand with our labels are none of ours. RC-44
controllers::raycluster::Pods pods_of(const World& world, const kube::ObjectMeta& cluster,
                                      std::vector<std::string>* foreign = nullptr) {
  controllers::raycluster::Pods out;
  for (auto& pod :
       world.pods.labelled(cluster.key.namespace_, ray::kLabelCluster, cluster.key.name)) {
    if (belongs_to(pod->meta, cluster))
      out.push_back(std::move(pod));
    else if (foreign && !pod->meta.controller_owner() && !pod->meta.deleting)
      foreign->push_back(pod->meta.key.name);
  }
  return out;
}

// Two long names that end alike are cut to one. What of this cluster has its own name already keeps
// it, so that the answer does not change when the other cluster goes. RC-25
bool is_clipped_name_taken(const World& world, const ray::RayCluster& cluster) {
  const bool with_secret = ray::needs_auth_secret(cluster.spec);  // else none is to be asked for
  if (!ray::autoscaling_enabled(cluster.spec) && !with_secret) return false;
  const auto& meta = cluster.meta;
  const auto any = [&](const std::string& name, const auto& counts) {
    const kube::ObjectKey key{meta.key.namespace_, name};
    const auto owned = [&](const auto& view) {
      const auto* owner = view ? view->meta.controller_owner() : nullptr;
      return owner && counts(*owner);
    };
    return owned(world.service_accounts.get(key)) || owned(world.roles.get(key)) ||
           owned(world.role_bindings.get(key)) ||
           (with_secret && owned(world.secrets.labelled.get(key)));
  };
  return any(ray::distinct_name(meta.key.name),
             [&](const kube::OwnerRef& owner) { return owner.uid == meta.uid; }) ||
         any(ray::check_name(meta.key.name), [&](const kube::OwnerRef& owner) {
           return owner.kind == ray::kKindRayCluster && owner.name != meta.key.name;
         });
}

void see_services(const World& world, RayClusterSeen& seen) {
  const auto& key = seen.key();
  const auto identifier = ray::check_label(key.name + "-head");
  for (auto& service : world.services.labelled(key.namespace_, ray::kLabelCluster, key.name))
    if (service->meta.label(ray::kLabelNodeType) == ray::kNodeTypeHead &&
        service->meta.label(ray::kLabelIdentifier) == identifier)
      seen.head_services.push_back(std::move(service));
  // Named like ours but without our labels: not the one that the selector finds.
  seen.head_service_name_taken =
      seen.head_services.empty() &&
      world.services.get({key.namespace_, ray::head_service_name(*seen.cluster)}) != nullptr;
  seen.headless_service =
      !world.services.labelled(key.namespace_, ray::kLabelHeadlessWorkerService, key.name).empty();
  seen.serve_service =
      world.services.get({key.namespace_, ray::default_serve_service_name(key.name)}) != nullptr;
}

bool wants_certificates(const ray::RayCluster& cluster) {
  return cluster.spec.tlsOptions && ray::is_true(cluster.spec.tlsOptions->enabled);
}

void see_certificates(const World& world, const kube::ObjectKey& cluster,
                      controllers::mtls::LeavesSeen& seen) {
  const auto in_namespace = [&](std::string name) {
    return kube::ObjectKey{cluster.namespace_, std::move(name)};
  };
  seen.head_certificate =
      world.certificates->get(in_namespace(ray::head_certificate_name(cluster.name)));
  seen.worker_certificate =
      world.certificates->get(in_namespace(ray::worker_certificate_name(cluster.name)));
  seen.head_secret = world.secrets.get(in_namespace(ray::head_tls_secret_name(cluster.name)));
  seen.worker_secret = world.secrets.get(in_namespace(ray::worker_tls_secret_name(cluster.name)));
}

bool is_of_service(const World& world, const Json& slice) {
  const auto service = string_at(slice, {"metadata", "labels", kube::kLabelServiceName});
  return world.services.get({kube::key_of(slice).namespace_, std::string(service)}) != nullptr;
}

controllers::batchscheduler::GangSeen gang_of(const World& world, const kube::ObjectMeta& owner,
                                              std::string_view kind) {
  controllers::batchscheduler::GangSeen seen;
  if (world.pod_groups)
    seen.pod_group =
        world.pod_groups->get({owner.key.namespace_, controllers::batchscheduler::pod_group_name(
                                                         owner, kind, world.scheduler)});
  if (world.workloads) seen.workload = world.workloads->get(owner.key);
  return seen;
}

}  // namespace

World::World(const std::string& namespace_, const controllers::Settings& settings)
    : clusters(ray::kRayClusters,
               settings.cluster_gates.replicas_owner ? project_cluster_with_owner : project_cluster,
               {.namespace_ = namespace_}),
      jobs(ray::kRayJobs, ray::parse_ray_job, {.namespace_ = namespace_}),
      ray_services(ray::kRayServices, ray::parse_ray_service, {.namespace_ = namespace_}),
      pods(kube::kPods,
           settings.cluster_gates.quota_condition ? project_gated_pod : project_ray_pod,
           {.namespace_ = namespace_,
            .label_selector = "ray.io/node-type in (head,redis-cleanup,worker)"}),
      submitter_pods(
          kube::kPods, kube::project_pod,
          {.namespace_ = namespace_,
           .label_selector = fmt::format("{}={}", ray::kLabelOriginCrd, ray::kKindRayJob)}),
      services(kube::kServices,
               settings.cluster_gates.follow_edits ? project_whole_service : kube::project_service,
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
  endpoint_slices.keep_only([this](const Json& slice) { return is_of_service(*this, slice); });
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
  if (&cache == &services) return {&clusters, &ray_services};
  if (&cache == &endpoint_slices) return {&services};
  return {};
}

std::optional<RayClusterSeen> see_ray_cluster(const World& world, const kube::ObjectKey& key) {
  auto cluster = world.clusters.get(key);
  if (!cluster) return std::nullopt;
  if (is_clipped_name_taken(world, *cluster)) {
    auto renamed = std::make_shared<ray::RayCluster>(*cluster);
    renamed->clipped_name_taken = true;
    cluster = std::move(renamed);
  }
  RayClusterSeen seen{.cluster = cluster};
  seen.pods = pods_of(world, cluster->meta, &seen.foreign_pods);
  const auto in_namespace = [&](std::string name) {
    return kube::ObjectKey{key.namespace_, std::move(name)};
  };
  see_services(world, seen);
  seen.auth_secret = world.secrets.get(in_namespace(ray::auth_secret_name(*cluster)));
  seen.service_account = world.service_accounts.get(in_namespace(
                             controllers::raycluster::service_account_name(*cluster))) != nullptr;
  seen.role = world.roles.get(in_namespace(ray::access_name(*cluster))) != nullptr;
  seen.role_binding = world.role_bindings.get(in_namespace(ray::access_name(*cluster))) != nullptr;
  seen.ingress = world.ingresses.get(in_namespace(ray::head_ingress_name(key.name)));
  if (world.routes)
    seen.routes = world.routes->labelled(key.namespace_, ray::kLabelCluster, key.name);
  if (ray::gcs_store(*cluster) == ray::GcsStore::RocksDb)
    seen.gcs_claim = world.claims.get(in_namespace(ray::gcs_claim_name(*cluster)));
  for (auto& job : world.batch_jobs.labelled(key.namespace_, ray::kLabelCluster, key.name))
    if (job->meta.label(ray::kLabelNodeType) == ray::kNodeTypeRedisCleanup)
      seen.cleanup_jobs.push_back(std::move(job));
  seen.gang = gang_of(world, cluster->meta, ray::kKindRayCluster);
  if (world.certificates && wants_certificates(*cluster))
    see_certificates(world, key, seen.certificates);
  return seen;
}

std::optional<RayJobSeen> see_ray_job(const World& world, const kube::ObjectKey& key) {
  auto job = world.jobs.get(key);
  if (!job) return std::nullopt;
  RayJobSeen seen{.job = job};
  const auto in_namespace = [&](std::string name) {
    return kube::ObjectKey{key.namespace_, std::move(name)};
  };
  seen.service = world.services.get(in_namespace(ray::default_head_service_name(key.name)));
  // A namesake of an earlier RayJob is on its way out; to wait for it is to make ours later.
  seen.submitter = world.batch_jobs.get(in_namespace(key.name));
  if (seen.submitter && !belongs_to(seen.submitter->meta, job->meta)) seen.submitter.reset();
  seen.gang = gang_of(world, job->meta, ray::kKindRayJob);
  if (job->status.rayClusterName.empty()) return seen;
  seen.cluster = world.clusters.get(in_namespace(job->status.rayClusterName));
  if (!seen.cluster) return seen;
  seen.cluster_service = world.services.get(in_namespace(ray::head_service_name(*seen.cluster)));
  seen.submitter_pods =
      world.submitter_pods.labelled(key.namespace_, ray::kLabelOriginCrName, key.name);
  seen.pods = pods_of(world, seen.cluster->meta);
  seen.heads = controllers::raycluster::pods_of_type(seen.pods, ray::kNodeTypeHead);
  if (ray::token_auth_enabled(seen.cluster->spec))
    seen.auth_secret = world.secrets.get(in_namespace(ray::auth_secret_name(*seen.cluster)));
  return seen;
}

std::optional<controllers::raycronjob::RayCronJobSeen> see_ray_cron_job(
    const World& world, const kube::ObjectKey& key) {
  if (!world.cron_jobs) return std::nullopt;
  auto cron_job = world.cron_jobs->get(key);
  if (!cron_job) return std::nullopt;
  controllers::raycronjob::RayCronJobSeen seen{
      .cron_job = cron_job,
      .has_job = [&world](const kube::ObjectKey& job) { return world.jobs.get(job) != nullptr; }};
  for (auto& job : world.jobs.labelled(key.namespace_, ray::kLabelCronJobName, key.name))
    if (belongs_to(job->meta, cron_job->meta)) seen.children.push_back(std::move(job));
  return seen;
}

std::optional<controllers::networkpolicy::NetworkPolicySeen> see_network_policies(
    const World& world, const kube::ObjectKey& key) {
  auto cluster = world.clusters.get(key);
  if (!cluster || !world.policies) return std::nullopt;
  controllers::networkpolicy::NetworkPolicySeen seen{.cluster = cluster};
  seen.policies = world.policies->labelled(key.namespace_, ray::kLabelCluster, key.name);
  // Namesakes without the label are in the way all the same.
  const auto add = [&](std::string name) {
    auto policy = world.policies->get({key.namespace_, std::move(name)});
    if (policy && std::ranges::find(seen.policies, policy) == seen.policies.end())
      seen.policies.push_back(std::move(policy));
  };
  add(ray::head_network_policy_name(key.name));
  for (const auto& group : cluster->spec.workerGroupSpecs)
    add(ray::worker_network_policy_name(key.name, group.groupName));
  return seen;
}

std::optional<controllers::mtls::MtlsSeen> see_mtls(const World& world,
                                                    const kube::ObjectKey& key) {
  auto cluster = world.clusters.get(key);
  if (!cluster || !world.certificates) return std::nullopt;
  controllers::mtls::MtlsSeen seen{.cluster = cluster};
  if (!wants_certificates(*cluster)) return seen;
  const auto in_namespace = [&](std::string name) {
    return kube::ObjectKey{key.namespace_, std::move(name)};
  };
  seen.self_signed_issuer =
      world.issuers->get(in_namespace(ray::self_signed_issuer_name(key.name)));
  seen.ca_issuer = world.issuers->get(in_namespace(ray::ca_issuer_name(key.name)));
  seen.ca_certificate = world.certificates->get(in_namespace(ray::ca_certificate_name(key.name)));
  seen.ca_secret =
      world.secrets.get(in_namespace(ray::ca_secret_name(key.name, cluster->meta.uid)));
  see_certificates(world, key, seen.leaves);
  seen.pods = pods_of(world, cluster->meta);
  return seen;
}

std::vector<kube::ObjectKey> owners_of_gang(const World& world, const kube::Resource& owner,
                                            const kube::ObjectMeta& pod_group) {
  auto keys = kube::owner_of_kind(owner)(pod_group);
  if (!keys.empty()) return keys;
  auto name = controllers::batchscheduler::owner_of_pod_group(pod_group.key.name, world.scheduler);
  if (!name.empty()) keys.push_back({pod_group.key.namespace_, std::move(name)});
  return keys;
}

std::vector<kube::ObjectKey> clusters_of_secret(const World& world,
                                                const kube::ObjectMeta& secret) {
  return world.secrets.wanted_by(secret.key);
}

std::vector<kube::ObjectKey> jobs_of_secret(const World& world, const kube::ObjectMeta& secret) {
  std::vector<kube::ObjectKey> keys;
  for (const auto& key : world.secrets.wanted_by(secret.key))
    if (const auto cluster = world.clusters.get(key))
      for (auto& job : jobs_of_cluster(world, cluster->meta)) keys.push_back(std::move(job));
  return keys;
}

kube::Plan wait_for_secrets(const World& world, const kube::ObjectKey& cluster, Time now) {
  kube::Plan plan;  // made again when they are known
  plan.look_again = std::chrono::seconds{30};
  if (const auto secret = world.secrets.overdue(cluster, now))
    plan.events.push_back(controllers::warning(
        "SecretNotReadable", "Reconcile",
        fmt::format(
            "The API server does not tell the operator whether Secret {} is there; it needs "
            "the rights to list and watch Secrets, and its log has the reason",
            secret->to_string())));
  return plan;
}

bool knows_secrets(const World& world, const RayJobSeen& seen) {
  return !seen.cluster || world.secrets.known_to(seen.cluster->meta.key);
}

std::vector<kube::ObjectKey> clusters_of(const kube::ObjectMeta& dependent) {
  auto keys = kube::owner_of_kind(ray::kRayClusters)(dependent);
  if (!keys.empty()) return keys;
  // Services that users made in the head Service's place have its labels only.
  if (const auto name = dependent.label(ray::kLabelCluster); !name.empty())
    keys.push_back({dependent.key.namespace_, std::string(name)});
  return keys;
}

std::vector<kube::ObjectKey> clusters_using_account(const World& world,
                                                    const kube::ObjectMeta& account) {
  std::vector<kube::ObjectKey> keys;
  for (const auto& cluster : world.clusters.list(account.key.namespace_))
    if (ray::autoscaling_enabled(cluster->spec) &&
        controllers::raycluster::service_account_name(*cluster) == account.key.name)
      keys.push_back(cluster->meta.key);
  return keys;
}

std::vector<kube::ObjectKey> jobs_of_cluster(const World& world, const kube::ObjectMeta& cluster) {
  if (auto owners = kube::owner_of_kind(ray::kRayJobs)(cluster); !owners.empty()) return owners;
  std::vector<kube::ObjectKey> keys;
  for (const auto& job : world.jobs.list(cluster.key.namespace_))
    if (controllers::rayjob::selected_cluster(job->spec) == cluster.key.name)
      keys.push_back(job->meta.key);
  return keys;
}

std::vector<kube::ObjectKey> jobs_waiting_for(const World& world, const kube::ObjectMeta& pod) {
  std::vector<kube::ObjectKey> keys;
  for (const auto& key : kube::owner_of_kind(ray::kRayClusters)(pod))
    if (const auto cluster = world.clusters.get(key))
      for (auto& owner : kube::owner_of_kind(ray::kRayJobs)(cluster->meta)) {
        const auto job = world.jobs.get(owner);
        if (job && job->status.jobDeploymentStatus == "Initializing")
          keys.push_back(std::move(owner));
      }
  return keys;
}

std::vector<kube::ObjectKey> job_of_submitter(const kube::ObjectMeta& pod) {
  return {{pod.key.namespace_, std::string(pod.label(ray::kLabelOriginCrName))}};
}

std::vector<kube::ObjectKey> jobs_of_dependent(const World& world,
                                               const kube::ObjectMeta& dependent) {
  std::vector<kube::ObjectKey> keys;
  for (const auto& key : kube::owner_of_kind(ray::kRayClusters)(dependent))
    if (const auto cluster = world.clusters.get(key))
      for (auto& job : jobs_of_cluster(world, cluster->meta)) keys.push_back(std::move(job));
  return keys;
}

}  // namespace manta::operator_
