#include "operator/serve.h"

#include "base/log.h"
#include "kube/http_client.h"
#include "kube/leader_election.h"
#include "operator/crd_check.h"
#include "operator/dashboard_fetch.h"
#include "operator/metrics/controller_metrics.h"
#include "operator/metrics/exposition.h"
#include "operator/metrics/process_metrics.h"
#include "operator/operator.h"
#include "operator/ray_dashboard.h"
#include "operator/signals.h"
#include "operator/webhooks/webhook_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace manta::operator_ {
namespace {

constexpr const char* kLeaseName = "ray-operator-leader";
constexpr std::string_view kWebhookCertificates = "/k8s-webhook-server/serving-certs";

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string fresh_seed(Random& random) {
  std::string seed;
  for (int i = 0; i < 4; ++i) seed += fmt::format("{:016x}", random.next());
  return seed;
}

struct Listeners {
  std::unique_ptr<HttpServer> health = {};
  std::unique_ptr<HttpServer> metrics = {};
  std::unique_ptr<WebhookServer> webhooks = {};
};

// The health and metrics endpoints answer from the start, and on followers.
Started<Listeners> listen(AsioLoop& loop, const Assignment& assignment, Exposition& exposition) {
  const auto& options = assignment.options;
  Listeners out;
  if (options.probe_addr != "0" && !options.probe_addr.empty()) {
    auto server =
        HttpServer::listen(loop, {.address = options.probe_addr}, only_get(answer_health));
    if (!server) return not_started("unable to start manager", server.error());
    out.health = std::move(*server);
  }
  if (options.metrics_addr != "0") {
    const auto address = options.metrics_addr.empty() ? std::string(":8080") : options.metrics_addr;
    auto server = HttpServer::listen(loop, {.address = address},
                                     only_get([&exposition](const ServedRequest& request) {
                                       return exposition.answer(request);
                                     }));
    if (!server) return not_started("unable to start manager", server.error());
    out.metrics = std::move(*server);
  }
  if (assignment.environment("ENABLE_WEBHOOKS") == "true") {
    auto folder = assignment.environment("TMPDIR").value_or("");
    if (folder.empty()) folder = "/tmp";
    auto server = WebhookServer::listen(
        loop, {.certificate_dir = folder + std::string(kWebhookCertificates)});
    if (!server) return not_started("problem running manager", server.error());
    out.webhooks = std::move(*server);
  }
  return out;
}

void write_leader_metrics(MetricsPage& page, bool leads) {
  page.family("leader_election_master_status", MetricType::Gauge, "1: this process leads");
  page.sample(metric_labels({{"name", kLeaseName}}), leads ? 1 : 0);
}

// What controller-runtime has at 0 while nothing of the kind exists.
void write_webhook_metrics(MetricsPage& page, const WebhookServer* webhooks) {
  for (const auto* family : {"controller_runtime_webhook_panics_total",
                             "controller_runtime_conversion_webhook_panics_total"}) {
    page.family(family, MetricType::Counter, "A panic ends the process");
    page.sample("", 0);
  }
  if (webhooks)
    webhooks->write_to(page);
  else
    write_certificate_metrics(page, 0, 0);
}

Task<Started<>> check_stored_crds(AsioLoop& loop, kube::Api& api, const Assignment& assignment,
                                  std::stop_token stop) {
  auto namespace_ = assignment.options.namespaces().front();
  if (namespace_.empty()) namespace_ = "default";
  std::vector<kube::Resource> needed = {ray::kRayClusters, ray::kRayJobs, ray::kRayServices};
  if (assignment.settings.cron_jobs) needed.push_back(ray::kRayCronJobs);
  auto fit = co_await check_crds(loop, api, namespace_, std::move(needed), stop);
  if (!fit) co_return not_started("cannot work with the stored definitions", fit.error());
  co_return Started<>{};
}

constexpr std::chrono::minutes kSyncLimit{2};

// An operator that cannot see what it should work on is of no use, and a process that ends is
// noticed: a missing right, most often.
void expect_sync(AsioLoop& loop, const Operator& op) {
  loop.after(kSyncLimit, [&op] {
    if (op.synced()) return;
    log::error("problem running manager",
               {{"logger", "setup"},
                {"error", fmt::format("timed out waiting for caches to be synced: {}",
                                      fmt::join(op.unsynced(), ", "))}});
    std::_Exit(1);
  });
}

// Watches at once, so that a new leader knows the world already; acts while it is the leader.
Task<void> lead(AsioLoop& loop, kube::LeaderElection& election, Operator& op,
                std::stop_token stop) {
  Scope scope(loop);
  election.on_started = [&] {
    expect_sync(loop, op);
    scope.spawn("work", op.work(stop));
  };
  election.on_lost = [] {
    // Another may be writing already: nothing of ours may follow.
    log::error("problem running manager", {{"logger", "setup"}, {"error", "leader election lost"}});
    std::_Exit(1);
  };
  scope.spawn("watch", op.watch(stop));
  scope.spawn("election", election.run(stop));
  co_await scope.join();
}

}  // namespace

Task<Started<>> serve(AsioLoop& loop, kube::Api& api, const RestMetrics& requests,
                      Assignment assignment) {
  std::stop_source stop;
  Signals signals(loop, stop);
  const auto clock = [&loop] { return loop.now(); };
  const auto& options = assignment.options;
  SystemRandom random;

  std::optional<kube::LeaderElection> election;
  if (options.leader_election)
    election.emplace(
        loop, api, random,
        kube::LeaseOptions{.lease = {assignment.election_namespace, kLeaseName},
                           .identity = fmt::format("{}_{}", host_name(), random_uuid(random))});
  const std::function<bool()> may_write = [&election] {
    return !election || election->is_leader();
  };

  ControllerMetrics controllers(clock, std::max(1, options.reconcile_concurrency));
  RayDurations durations;
  Exposition exposition;
  auto listeners = listen(loop, assignment, exposition);
  if (!listeners) co_return std::unexpected(listeners.error());
  exposition.add(write_process_metrics);
  exposition.add([&](MetricsPage& page) {
    controllers.write_to(page);
    requests.write_to(page);
    if (election) write_leader_metrics(page, election->is_leader());
    write_webhook_metrics(page, listeners->webhooks.get());
  });

  auto& settings = assignment.settings;
  if (auto ok = co_await complete_settings(api, settings, assignment.environment); !ok)
    co_return ok;
  if (auto ok = co_await check_stored_crds(loop, api, assignment, stop.get_token()); !ok)
    co_return ok;
  settings.seed = fresh_seed(random);

  kube::FencedApi fenced(api, may_write);
  kube::HttpClient client(
      loop, {.proxy = kube::proxies_from(kube::ConfigSource::of_process("").environment)});
  Operator* running = nullptr;
  RayDashboard dashboard(
      fetch_over(client, may_write), fenced,
      [&running](const kube::ObjectKey& secret) { return running->token_of(secret); },
      settings.use_kubernetes_proxy);
  Operator op(loop, fenced, dashboard, random,
              {.settings = settings,
               .namespaces = options.namespaces(),
               .reporting_instance = "kuberay-operator-" + host_name(),
               .observer = &controllers,
               .durations = options.enable_metrics ? &durations : nullptr});
  running = &op;
  if (options.enable_metrics)
    exposition.add([&](MetricsPage& page) {
      write_ray_objects(page, op.ray_objects());
      durations.write_to(page);
    });
  log::info("starting manager", {{"logger", "setup"}});
  if (election) {
    co_await lead(loop, *election, op, stop.get_token());
  } else {
    expect_sync(loop, op);
    co_await op.run(stop.get_token());
  }
  co_return Started<>{};
}

}  // namespace manta::operator_
