#include "operator/concerned.h"

#include "controllers/batchscheduler/gang.h"
#include "controllers/raycluster/objects.h"
#include "controllers/rayjob/seen.h"
#include "kube/runtime.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"

#include <algorithm>

namespace manta::operator_ {

namespace {

void add(std::vector<kube::ObjectKey>& keys, std::vector<kube::ObjectKey> more) {
  for (auto& key : more)
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
}

// Those whose name is, begins or ends this object's, as it does in the names that we give unless
// they are too long for it: the object stands where one of theirs is, or is to be, whoever made it.
template <class T>
std::vector<kube::ObjectKey> named_in(const kube::Cache<T>& cache, const kube::ObjectKey& key) {
  std::vector<kube::ObjectKey> found;
  const auto look_up = [&](std::string name) {
    kube::ObjectKey one{key.namespace_, std::move(name)};
    if (cache.get(one)) found.push_back(std::move(one));
  };
  look_up(key.name);
  for (auto dash = key.name.find('-'); dash != std::string::npos;
       dash = key.name.find('-', dash + 1)) {
    look_up(key.name.substr(0, dash));
    look_up(key.name.substr(dash + 1));
  }
  return found;
}

// Whom these RayClusters concern.
template <class Concerned>
std::vector<kube::ObjectKey> through_clusters(const World& world,
                                              const std::vector<kube::ObjectKey>& clusters,
                                              const Concerned& concerned) {
  std::vector<kube::ObjectKey> keys;
  for (const auto& key : clusters)
    if (const auto cluster = world.clusters.get(key)) add(keys, concerned(cluster->meta));
  return keys;
}

std::vector<kube::ObjectKey> jobs_through(const World& world,
                                          const std::vector<kube::ObjectKey>& clusters) {
  return through_clusters(world, clusters, [&world](const kube::ObjectMeta& cluster) {
    return jobs_of_cluster(world, cluster);
  });
}

}  // namespace

bool made_for_service(const kube::ObjectMeta& meta) {
  return meta.label(ray::kLabelOriginCrd) == ray::kKindRayService;
}

std::vector<kube::ObjectKey> services_of_cluster(const kube::ObjectMeta& cluster) {
  if (!made_for_service(cluster)) return {};
  return {{cluster.key.namespace_, std::string(cluster.label(ray::kLabelOriginCrName))}};
}

std::vector<kube::ObjectKey> services_of_dependent(const World& world,
                                                   const kube::ObjectMeta& dependent) {
  if (auto owners = kube::owner_of_kind(ray::kRayServices)(dependent); !owners.empty())
    return owners;
  return through_clusters(world, kube::owner_of_kind(ray::kRayClusters)(dependent),
                          services_of_cluster);
}

std::vector<kube::ObjectKey> services_by_name(const World& world,
                                              const kube::ObjectMeta& dependent) {
  auto keys = services_of_dependent(world, dependent);
  add(keys, named_in(world.ray_services, dependent.key));
  add(keys, through_clusters(world, named_in(world.clusters, dependent.key), services_of_cluster));
  add(keys, world.given_names.services_of(dependent.key));
  return keys;
}

std::vector<kube::ObjectKey> services_of_secret(const World& world,
                                                const kube::ObjectMeta& secret) {
  return through_clusters(world, world.secrets.wanted_by(secret.key), services_of_cluster);
}

std::vector<kube::ObjectKey> services_of_slice(const World& world, const kube::ObjectMeta& slice) {
  const auto service =
      world.services.get({slice.key.namespace_, std::string(slice.label(kube::kLabelServiceName))});
  if (!service) return {};
  return services_by_name(world, service->meta);
}

std::vector<kube::ObjectKey> owners_of_gang(const World& world, const kube::Resource& owner,
                                            const kube::ObjectMeta& pod_group) {
  auto keys = kube::owner_of_kind(owner)(pod_group);
  auto name = controllers::batchscheduler::owner_of_pod_group(pod_group.key.name, world.scheduler);
  if (!name.empty()) add(keys, {{pod_group.key.namespace_, std::move(name)}});
  return keys;
}

std::vector<kube::ObjectKey> clusters_of_secret(const World& world,
                                                const kube::ObjectMeta& secret) {
  return world.secrets.wanted_by(secret.key);
}

std::vector<kube::ObjectKey> jobs_of_secret(const World& world, const kube::ObjectMeta& secret) {
  return jobs_through(world, world.secrets.wanted_by(secret.key));
}

std::vector<kube::ObjectKey> clusters_of(const kube::ObjectMeta& dependent) {
  auto keys = kube::owner_of_kind(ray::kRayClusters)(dependent);
  // Services that users made in the head Service's place have its labels only, and a Pod that was
  // relabelled has another's.
  kube::ObjectKey named{dependent.key.namespace_, std::string(dependent.label(ray::kLabelCluster))};
  if (!named.name.empty()) add(keys, {std::move(named)});
  return keys;
}

std::vector<kube::ObjectKey> clusters_by_name(const World& world,
                                              const kube::ObjectMeta& dependent) {
  auto keys = clusters_of(dependent);
  add(keys, named_in(world.clusters, dependent.key));
  add(keys, world.given_names.clusters_of(dependent.key));
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
  return jobs_through(world, kube::owner_of_kind(ray::kRayClusters)(dependent));
}

}  // namespace manta::operator_
