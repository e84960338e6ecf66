#include "local/controllers/local_controllers.h"

#include "kube/cache.h"
#include "kube/events.h"
#include "kube/runtime.h"
#include "local/controllers/endpoints.h"
#include "local/controllers/garbage_collector.h"
#include "local/controllers/job.h"
#include "local/controllers/job_pod.h"
#include "local/controllers/namespaces.h"
#include "local/controllers/scheduling.h"
#include "local/controllers/service_accounts.h"

#include <optional>
#include <utility>
#include <vector>

namespace manta::local {
namespace {

/// None of these controllers asks anything outside Kubernetes.
class Nothing final : public kube::Outside {
 public:
  Task<Result<Json>> call(std::string target, Json) override {
    co_return failed(ErrorCode::NotFound, "no such system: " + target);
  }
};

constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";

}  // namespace

struct LocalControllers::Impl {
  Impl(Loop& l, kube::Api& a, Random& r, LocalControllersOptions o)
      : loop(l),
        api(a),
        random(r),
        options(std::move(o)),
        events(l, a, r, "manta", "manta"),
        runtime(l, a, caches, outside, events, r, {.field_manager = "manta-controllers"}),
        collector(l, a, r),
        namespace_controller(l, a, namespaces) {
    use(namespaces);
    pods.index_label(std::string(kJobNameLabel));
    slices.index_label(std::string(kServiceNameLabel));
    if (options.jobs || options.scheduling || options.endpoints) use(pods);
    if (options.jobs) add_jobs();
    if (options.endpoints) add_endpoints();
    if (options.service_accounts) add_service_accounts();
    if (options.scheduling) {
      use(nodes);
      scheduling.emplace(l, a, pods, nodes, events, options.scheduler);
    }
  }

  Loop& loop;
  kube::Api& api;
  Random& random;
  LocalControllersOptions options;
  kube::Cache<PodView> pods{kube::kPods, project_pod};
  kube::Cache<NodeView> nodes{kube::kNodes, project_node};
  kube::Cache<JobView> jobs{kube::kJobs, project_job};
  kube::Cache<ServiceView> services{kube::kServices, project_service};
  kube::Cache<EndpointsView> endpoints{kube::kEndpoints, project_endpoints};
  kube::Cache<EndpointsView> slices{kube::kEndpointSlices, project_endpoints};
  kube::Cache<NamespaceView> namespaces{kube::kNamespaces, project_namespace};
  kube::Cache<NamespaceView> accounts{
      kube::kServiceAccounts, project_namespace, {.field_selector = "metadata.name=default"}};
  kube::Cache<PlainView> root_cas{
      kube::kConfigMaps, project_plain, {.field_selector = "metadata.name=kube-root-ca.crt"}};
  kube::CacheSet caches = {};
  Nothing outside = {};
  kube::EventRecorder events;
  kube::Runtime runtime;
  GarbageCollector collector;
  NamespaceController namespace_controller;
  std::optional<Scheduling> scheduling = {};

  void use(kube::CacheBase& cache) { caches.add(cache); }

  void add_jobs() {
    use(jobs);
    kube::ControllerSpec spec{.name = "job", .primary = kube::kJobs};
    spec.plan = [this](const kube::ObjectKey& key,
                       const kube::PlanContext& context) -> std::optional<kube::Plan> {
      JobSeen seen{.job = jobs.get(key),
                   .pods = pods.labelled(key.namespace_, kJobNameLabel, key.name)};
      if (seen.job == nullptr && seen.pods.empty()) return std::nullopt;
      return plan_job(seen, context);
    };
    spec.watches.push_back({.cache = &jobs, .affected = kube::itself});
    spec.watches.push_back({.cache = &pods, .affected = kube::owner_of_kind(kube::kJobs)});
    runtime.add(std::move(spec));
  }

  std::vector<kube::ObjectKey> services_of_pod(const kube::ObjectMeta& pod) const {
    std::vector<kube::ObjectKey> affected;
    for (const auto& service : services.list(pod.key.namespace_))
      if (selector_of(*service).matches(pod.labels)) affected.push_back(service->meta.key);
    return affected;
  }

  static kube::LabelSelector selector_of(const ServiceView& service) {
    kube::StringMap labels;
    for (const auto& [key, value] : object_at(service.spec, {"selector"}))
      if (value.is_string()) labels[std::string(key)] = std::string(value.as_string());
    return kube::LabelSelector::equals(std::move(labels));
  }

  void add_endpoints() {
    use(services);
    use(endpoints);
    use(slices);
    kube::ControllerSpec spec{.name = "endpoints", .primary = kube::kServices};
    spec.plan = [this](const kube::ObjectKey& key,
                       const kube::PlanContext& context) -> std::optional<kube::Plan> {
      EndpointsSeen seen{.service = services.get(key), .endpoints = endpoints.get(key)};
      if (seen.service == nullptr && seen.endpoints == nullptr) return std::nullopt;
      if (seen.service != nullptr) {
        const auto selector = selector_of(*seen.service);
        if (!selector.empty()) seen.pods = pods.list(key.namespace_, selector);
        for (auto& slice : slices.labelled(key.namespace_, kServiceNameLabel, key.name))
          if (slice->meta.controller_owner() != nullptr &&
              slice->meta.controller_owner()->uid == seen.service->meta.uid)
            seen.slices.push_back(std::move(slice));
      }
      return plan_endpoints(seen, context);
    };
    spec.watches.push_back({.cache = &services, .affected = kube::itself});
    spec.watches.push_back({.cache = &endpoints, .affected = kube::itself});
    spec.watches.push_back({.cache = &slices, .affected = kube::owner_of_kind(kube::kServices)});
    spec.watches.push_back(
        {.cache = &pods, .affected = [this](const auto& pod) { return services_of_pod(pod); }});
    runtime.add(std::move(spec));
  }

  void add_service_accounts() {
    use(accounts);
    use(root_cas);
    kube::ControllerSpec spec{.name = "namespace-contents", .primary = kube::kNamespaces};
    spec.plan = [this](const kube::ObjectKey& key,
                       const kube::PlanContext&) -> std::optional<kube::Plan> {
      NamespaceSeen seen{.namespace_ = namespaces.get(key)};
      if (seen.namespace_ == nullptr) return std::nullopt;
      seen.has_default_account = accounts.get({key.name, "default"}) != nullptr;
      seen.root_ca = root_cas.get({key.name, "kube-root-ca.crt"});
      return plan_namespace_contents(seen, options.ca_pem);
    };
    auto its_namespace = [](const kube::ObjectMeta& meta) {
      return std::vector{kube::ObjectKey{"", meta.key.namespace_}};
    };
    spec.watches.push_back({.cache = &namespaces, .affected = kube::itself});
    spec.watches.push_back({.cache = &accounts, .affected = its_namespace});
    spec.watches.push_back({.cache = &root_cas, .affected = its_namespace});
    runtime.add(std::move(spec));
  }

  Task<void> run(std::stop_token stop) {
    Scope scope(loop);
    std::stop_callback forward(stop, [&] { scope.request_stop(); });
    const auto token = scope.stop_token();
    for (auto* cache : caches.all())
      scope.spawn("watch " + cache->resource().plural,
                  kube::reflect(loop, api, *cache, random, token));
    scope.spawn("events", events.run(token));
    scope.spawn("garbage collection", collector.run(token));
    scope.spawn("namespaces", namespace_controller.run(token));
    scope.spawn("plans", runtime.run(token));
    if (scheduling) scope.spawn("scheduling", scheduling->run(token));
    co_await scope.join();
  }
};

LocalControllers::LocalControllers(Loop& loop, kube::Api& api, Random& random,
                                   LocalControllersOptions options)
    : impl_(std::make_unique<Impl>(loop, api, random, std::move(options))) {}
LocalControllers::~LocalControllers() = default;

Task<void> LocalControllers::run(std::stop_token stop) { return impl_->run(std::move(stop)); }

bool LocalControllers::idle() const {
  return impl_->runtime.idle() && impl_->collector.idle() &&
         (!impl_->scheduling || impl_->scheduling->idle());
}

}  // namespace manta::local
