#include "operator/seen.h"

#include "controllers/raycluster/adoption.h"
#include "controllers/raycluster/objects.h"
#include "controllers/writes.h"
#include "ray/builders/access.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::operator_ {
namespace {

using controllers::raycluster::RayClusterSeen;
using controllers::rayjob::RayJobSeen;

bool belongs_to(const kube::ObjectMeta& meta, const kube::ObjectMeta& owner) {
  const auto* controller = meta.controller_owner();
  return controller && controller->uid == owner.uid;
}

// Made by hand or by another controller, or a worker of another cluster whose label somebody has
// changed. What Jobs and a cluster of the same name have made carries the label rightly.
bool is_stray(const kube::ObjectMeta& pod, const kube::ObjectMeta& cluster) {
  if (pod.deleting) return false;
  const auto* controller = pod.controller_owner();
  if (!controller) return true;
  return controller->kind == ray::kKindRayCluster ? controller->name != cluster.key.name
                                                  : controller->kind != kube::kJobs.kind;
}

// `foreign`: those that carry our label and are none of ours. RC-44
controllers::raycluster::Pods pods_of(const World& world, const kube::ObjectMeta& cluster,
                                      std::vector<std::string>* foreign = nullptr) {
  controllers::raycluster::Pods out;
  for (auto& pod :
       world.pods.labelled(cluster.key.namespace_, ray::kLabelCluster, cluster.key.name)) {
    if (belongs_to(pod->meta, cluster) ||
        controllers::raycluster::is_left_behind(pod->meta, cluster))
      out.push_back(std::move(pod));
    else if (foreign && is_stray(pod->meta, cluster))
      foreign->push_back(pod->meta.key.name);
  }
  return out;
}

// SEC-02. Those of which nothing is known may well have been the group's, and be gone.
void see_named(const World& world, RayClusterSeen& seen) {
  const auto& meta = seen.cluster->meta;
  for (const auto& group : seen.spec().workerGroupSpecs)
    for (const auto& name : group.scaleStrategy.workersToDelete) {
      const auto pod = world.pods.get({meta.key.namespace_, name});
      if (!pod || pod->meta.deleting) continue;
      const bool own =
          belongs_to(pod->meta, meta) || controllers::raycluster::is_left_behind(pod->meta, meta);
      if (!own || pod->meta.label(ray::kLabelGroup) != group.groupName)
        seen.named_in_vain.push_back({group.groupName, name});
    }
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
  see_named(world, seen);
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
  if (world.routes) {
    seen.routes = world.routes->labelled(key.namespace_, ray::kLabelCluster, key.name);
    const auto name = ray::head_route_name(key.name, key.namespace_);
    seen.route_name_taken = seen.routes.empty() && world.routes->get(in_namespace(name));
  }
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

}  // namespace manta::operator_
