#include "operator/operator.h"

#include "controllers/mtls/plan.h"
#include "controllers/networkpolicy/plan.h"
#include "controllers/raycluster/plan.h"
#include "controllers/raycronjob/plan.h"
#include "controllers/rayjob/plan.h"
#include "controllers/rayjob/valid_jobs.h"
#include "kube/cache.h"
#include "kube/events.h"
#include "operator/concerned.h"
#include "operator/metrics/duration_watch.h"
#include "operator/node_facts.h"
#include "operator/seen.h"
#include "operator/serve_ledger.h"
#include "operator/service_controller.h"
#include "ray/labels.h"

#include <algorithm>

namespace manta::operator_ {
namespace {

using Watch = kube::ControllerSpec::Watch;
using Affected = decltype(Watch::affected);

// A PodGroup or Workload concerns whose it is, and whose it would be.
Affected gangs_of(const World& world, const kube::Resource& owner) {
  return
      [&world, &owner](const kube::ObjectMeta& meta) { return owners_of_gang(world, owner, meta); };
}

void watch_secrets(World& world, std::vector<Watch>& watches,
                   std::vector<kube::ObjectKey> (*affected)(const World&,
                                                            const kube::ObjectMeta&)) {
  for (auto* cache : {&world.secrets.labelled, &world.secrets.named})
    watches.push_back({cache, [&world, affected](const kube::ObjectMeta& secret) {
                         return affected(world, secret);
                       }});
}

Affected clusters_by_name_in(const World& world) {
  return [&world](const kube::ObjectMeta& meta) { return clusters_by_name(world, meta); };
}

void watch_optional(World& world, std::vector<Watch>& watches) {
  const auto by_name = clusters_by_name_in(world);
  if (world.routes) watches.push_back({&*world.routes, by_name});
  if (world.pod_groups) watches.push_back({&*world.pod_groups, gangs_of(world, ray::kRayClusters)});
  if (world.workloads) watches.push_back({&*world.workloads, kube::itself});  // named like it
  if (!world.certificates) return;
  watches.push_back({&*world.certificates, by_name});
}

kube::ControllerSpec cluster_controller(World& world, const controllers::Settings& settings) {
  const auto owner = kube::owner_of_kind(ray::kRayClusters);
  const auto by_name = clusters_by_name_in(world);
  kube::ControllerSpec spec{
      .name = "raycluster",
      .primary = ray::kRayClusters,
      .plan = [&world, &settings](const kube::ObjectKey& key,
                                  const kube::PlanContext& context) -> std::optional<kube::Plan> {
        const auto seen = see_ray_cluster(world, key);
        if (!seen) return std::nullopt;
        if (!world.secrets.known_to(key)) return wait_for_secrets(world, key, context.now);
        return controllers::raycluster::plan(*seen, settings, context);
      },
      .watches = {Watch{&world.clusters, kube::itself},
                  Watch{.cache = &world.pods, .affected = clusters_of, .frees_quota = true},
                  Watch{&world.services, by_name}, Watch{&world.claims, by_name},
                  Watch{&world.ingresses, by_name}, Watch{&world.roles, by_name},
                  Watch{&world.role_bindings, by_name}, Watch{&world.batch_jobs, owner},
                  Watch{&world.service_accounts,
                        [&world](const kube::ObjectMeta& meta) {
                          return clusters_using_account(world, meta);
                        }}},
  };
  watch_secrets(world, spec.watches, clusters_of_secret);
  watch_optional(world, spec.watches);
  return spec;
}

bool is_head(const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
  return (after ? after : before)->label(ray::kLabelNodeType) == ray::kNodeTypeHead;
}

// Whoever deletes a finished RayJob's PodGroup wants it gone. Pods may wait for that of another,
// and that of a predecessor or a stranger may have been in the way.
bool is_of_finished_job(const World& world, const kube::ObjectMeta& pod_group) {
  const auto* owner = pod_group.controller_owner();
  if (!owner || owner->kind != ray::kKindRayJob) return false;
  const auto job = world.jobs.get({pod_group.key.namespace_, owner->name});
  return job && job->meta.uid == owner->uid &&
         controllers::rayjob::is_terminal_deployment(job->status.jobDeploymentStatus);
}

kube::ControllerSpec job_controller(World& world, const controllers::Settings& settings) {
  const auto owner = kube::owner_of_kind(ray::kRayJobs);
  const auto of_cluster = [&world](const kube::ObjectMeta& meta) {
    return jobs_of_cluster(world, meta);
  };
  const auto of_dependent = [&world](const kube::ObjectMeta& meta) {
    return jobs_of_dependent(world, meta);
  };
  kube::ControllerSpec spec{
      .name = "rayjob",
      .primary = ray::kRayJobs,
      .plan = [&world, &settings, valid = controllers::rayjob::ValidJobs()](
                  const kube::ObjectKey& key,
                  const kube::PlanContext& context) mutable -> std::optional<kube::Plan> {
        auto seen = see_ray_job(world, key);
        if (!seen) {
          valid.forget(key);
          return std::nullopt;
        }
        if (!knows_secrets(world, *seen)) return kube::Plan();  // planned again when it does
        valid.look_at(*seen, settings);
        return controllers::rayjob::plan(*seen, settings, context);
      },
      .watches = {Watch{&world.jobs, kube::itself}, Watch{&world.clusters, of_cluster},
                  Watch{&world.services, owner}, Watch{&world.services, of_dependent},
                  Watch{&world.batch_jobs, owner}, Watch{&world.pods, of_dependent, is_head},
                  // What workers say counts as long as their cluster is not ready.
                  Watch{&world.pods,
                        [&world](const kube::ObjectMeta& meta) {
                          return jobs_waiting_for(world, meta);
                        }},
                  Watch{&world.submitter_pods, job_of_submitter}},
  };
  watch_secrets(world, spec.watches, jobs_of_secret);
  if (world.pod_groups)
    spec.watches.push_back(
        {&*world.pod_groups, gangs_of(world, ray::kRayJobs),
         [&world](const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
           return after || !is_of_finished_job(world, *before);
         }});
  return spec;
}

kube::ControllerSpec cron_job_controller(World& world, const controllers::Settings& settings) {
  kube::ControllerSpec spec{
      .name = "raycronjob",
      .primary = ray::kRayCronJobs,
      .plan = [&world, &settings](const kube::ObjectKey& key,
                                  const kube::PlanContext& context) -> std::optional<kube::Plan> {
        const auto seen = see_ray_cron_job(world, key);
        if (!seen) return std::nullopt;
        return controllers::raycronjob::plan(*seen, settings, context);
      },
      .watches = {Watch{&*world.cron_jobs, kube::itself}},
  };
  // Only policies ask how its RayJobs are.
  if (settings.job_gates.cron_policies)
    spec.watches.push_back({&world.jobs, kube::owner_of_kind(ray::kRayCronJobs)});
  return spec;
}

kube::ControllerSpec policy_controller(World& world, const controllers::Settings& settings) {
  return {
      .name = "networkpolicy",
      .primary = ray::kRayClusters,
      .plan = [&world, &settings](const kube::ObjectKey& key,
                                  const kube::PlanContext&) -> std::optional<kube::Plan> {
        const auto seen = see_network_policies(world, key);
        if (!seen) return std::nullopt;
        return controllers::networkpolicy::plan(*seen, settings);
      },
      .watches = {Watch{&world.clusters, kube::itself,
                        [](const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
                          return !before || !after || before->generation != after->generation;
                        }},
                  Watch{&*world.policies, clusters_by_name_in(world)}},
  };
}

kube::ControllerSpec mtls_controller(World& world, const controllers::Settings& settings) {
  const auto by_name = clusters_by_name_in(world);
  kube::ControllerSpec spec{
      .name = "raycluster-mtls",
      .primary = ray::kRayClusters,
      .plan = [&world, &settings](const kube::ObjectKey& key,
                                  const kube::PlanContext& context) -> std::optional<kube::Plan> {
        const auto seen = see_mtls(world, key);
        if (!seen) return std::nullopt;
        if (!world.secrets.known_to(key)) return kube::Plan();  // planned again when it is
        return controllers::mtls::plan(*seen, settings, context.now);
      },
      .watches = {Watch{&world.clusters, kube::itself}, Watch{&*world.issuers, by_name},
                  Watch{&*world.certificates, by_name},
                  Watch{&world.pods, kube::owner_of_kind(ray::kRayClusters)}},
  };
  watch_secrets(world, spec.watches, clusters_of_secret);
  return spec;
}

// One watched namespace: its caches and the runtime that acts on them.
struct Unit {
  Unit(Loop& loop, kube::Api& api, kube::Outside& outside, kube::EventRecorder& events,
       Random& random, const std::string& namespace_, const OperatorOptions& options)
      : world(namespace_, options.settings),
        runtime(loop, api, world.caches, outside, events, random,
                {.field_manager = "kuberay-operator"}, observer_of(loop, options)) {
    runtime.add(cluster_controller(world, options.settings));
    runtime.add(job_controller(world, options.settings));
    runtime.add(service_controller(world, options.settings));
    if (world.certificates) runtime.add(mtls_controller(world, options.settings));
    if (world.policies) runtime.add(policy_controller(world, options.settings));
    if (world.cron_jobs) runtime.add(cron_job_controller(world, options.settings));
    world.secrets.on_known([this](const kube::ObjectKey& cluster) { plan_again(cluster); });
  }
  // A cluster, and what was made it or uses it.
  void plan_again(const kube::ObjectKey& key) {
    const auto cluster = world.clusters.get(key);
    if (!cluster) return;
    runtime.trigger("raycluster", key);
    if (world.certificates) runtime.trigger("raycluster-mtls", key);
    for (const auto& job : jobs_of_cluster(world, cluster->meta)) runtime.trigger("rayjob", job);
    for (const auto& service : services_of_cluster(cluster->meta))
      runtime.trigger("rayservice", service);
  }
  kube::RuntimeObserver* observer_of(Loop& loop, const OperatorOptions& options) {
    if (!options.durations) return options.observer;
    return &durations.emplace(
        world.clusters, world.jobs, *options.durations, [&loop] { return loop.now(); },
        options.observer);
  }

  World world;
  std::optional<DurationWatch> durations = {};
  kube::Runtime runtime;
};

}  // namespace

struct Operator::Impl {
  Impl(Loop& l, kube::Api& a, kube::Outside& outside, Random& r, OperatorOptions o)
      : loop(l),
        api(a),
        random(r),
        options(std::move(o)),
        nodes(a, outside),
        ledger(l, nodes),
        events(l, a, r, "kuberay-operator", options.reporting_instance) {
    for (const auto& namespace_ : options.namespaces)
      units.push_back(std::make_unique<Unit>(l, a, ledger, events, r, namespace_, options));
  }

  Loop& loop;
  kube::Api& api;
  Random& random;
  OperatorOptions options;
  NodeFacts nodes;
  ServeLedger ledger;
  kube::EventRecorder events;
  std::vector<std::unique_ptr<Unit>> units = {};
};

Operator::Operator(Loop& loop, kube::Api& api, kube::Outside& outside, Random& random,
                   OperatorOptions options)
    : impl_(std::make_unique<Impl>(loop, api, outside, random, std::move(options))) {}
Operator::~Operator() = default;

// Until `first` are synced it is not known which of the cache's objects concern us.
Task<void> Operator::follow(kube::CacheBase* cache, std::vector<kube::CacheBase*> first,
                            std::stop_token stop) {
  OneShot<bool> go(impl_->loop);
  kube::when_all_synced(first, [go] { go.set(true); });
  const std::stop_callback stopped(stop, [go] { go.set(false); });
  if (!co_await go) co_return;
  co_await kube::reflect(impl_->loop, impl_->api, *cache, impl_->random, std::move(stop));
}

Task<void> Operator::watch(std::stop_token stop) {
  Scope scope(impl_->loop);
  for (auto& unit : impl_->units) {
    auto& world = unit->world;
    for (auto* cache : world.caches.all())
      if (!cache->scope().on_demand)
        scope.spawn("reflect", follow(cache, world.needed_before(*cache), stop));
    scope.spawn("secrets", world.secrets.run(impl_->loop, impl_->api, impl_->random, stop));
  }
  co_await scope.join();
}

Task<void> Operator::work(std::stop_token stop) {
  for (const auto& unit : impl_->units) unit->world.caches.refresh();
  return act(std::move(stop));
}

Task<void> Operator::act(std::stop_token stop) {
  // Events outlive the runtimes, whose last writes still have some to tell.
  std::stop_source events_stop;
  Scope recorder(impl_->loop);
  recorder.spawn("events", impl_->events.run(events_stop.get_token()));
  Scope scope(impl_->loop);
  for (auto& unit : impl_->units) scope.spawn("runtime", unit->runtime.run(stop));
  co_await scope.join();
  events_stop.request_stop();
  co_await recorder.join();
}

Task<void> Operator::run(std::stop_token stop) {
  Scope scope(impl_->loop);
  scope.spawn("watch", watch(stop));
  scope.spawn("act", act(stop));
  co_await scope.join();
}

bool Operator::synced() const {
  for (const auto& unit : impl_->units)
    if (!unit->world.caches.synced()) return false;
  return true;
}

std::vector<std::string> Operator::unsynced() const {
  std::vector<std::string> names;
  for (const auto& unit : impl_->units)
    for (const auto* cache : unit->world.caches.all())
      if (!cache->synced() && !cache->scope().on_demand) names.push_back(cache->resource().plural);
  return names;
}

bool Operator::idle() const {
  for (const auto& unit : impl_->units)
    if (!unit->runtime.idle()) return false;
  return true;
}

std::map<std::string, std::size_t> Operator::held() const {
  std::map<std::string, std::size_t> counts;
  for (const auto& unit : impl_->units)
    for (const auto* cache : unit->world.caches.all())
      if (const auto count = cache->keys().size(); count > 0)
        counts[cache->resource().plural] += count;
  return counts;
}

RayObjects Operator::ray_objects() const {
  RayObjects all;
  const auto add = [](auto& to, auto from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const auto& unit : impl_->units) {
    add(all.clusters, unit->world.clusters.list(""));
    add(all.jobs, unit->world.jobs.list(""));
    add(all.services, unit->world.ray_services.list(""));
  }
  return all;
}

std::optional<std::string> Operator::token_of(const kube::ObjectKey& secret) const {
  for (const auto& unit : impl_->units)
    if (const auto found = unit->world.secrets.get(secret)) return found->auth_token;
  return std::nullopt;
}

}  // namespace manta::operator_
