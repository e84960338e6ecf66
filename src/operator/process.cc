#include "operator/process.h"

#include "base/asio_loop.h"
#include "base/log.h"
#include "kube/http_api.h"
#include "kube/http_client.h"
#include "kube/leader_election.h"
#include "operator/discovery.h"
#include "operator/http_server.h"
#include "operator/log_sink.h"
#include "operator/metrics.h"
#include "operator/operator.h"
#include "operator/options.h"
#include "operator/ray_dashboard.h"
#include "operator/time_zones.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace manta::operator_ {
namespace {

constexpr std::chrono::seconds kGrace{30};
constexpr const char* kLeaseName = "ray-operator-leader";

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed(ErrorCode::NotFound, fmt::format("cannot read {}", path));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

int fail(std::string_view what, const Error& error) {
  log::error(what, {{"logger", "setup"}, {"error", error.message}});
  return 1;
}

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

HttpFetch fetch_over(kube::HttpClient& client) {
  return [&client](std::string host, kube::RawRequest request) -> Task<Result<kube::RawResponse>> {
    kube::HttpRequest http{.method = request.method,
                           .url = fmt::format("http://{}{}", host, request.path),
                           .body = std::move(request.body),
                           .timeout = request.timeout,
                           .max_bytes = request.max_bytes};
    for (auto& [name, value] : request.headers) http.headers.emplace_back(name, value);
    auto answer = co_await client.request(std::move(http));
    if (!answer) co_return std::unexpected(answer.error());
    kube::RawResponse out{.status = answer->status, .body = std::move(answer->body)};
    for (auto& [name, value] : answer->headers) out.headers.emplace(name, value);
    co_return out;
  };
}

// What is decided by asking the API server.
Task<Result<void>> complete_settings(kube::Api& api, controllers::Settings& settings) {
  if (settings.build.sidecar_submitter_restart) {
    auto version = co_await server_version(api);
    if (!version)
      co_return failed(version.error().in(
          "SidecarSubmitterRestart feature gate enabled but unable to detect K8s version. Feature "
          "requires K8s 1.35+."));
    auto enough = version_at_least(*version, 1, 35);
    if (!enough) co_return failed(enough.error().in("Failed to compare K8s version."));
    if (!*enough)
      co_return failed(
          ErrorCode::Invalid,
          fmt::format("SidecarSubmitterRestart feature gate requires K8s 1.35+: current "
                      "version {} is below 1.35",
                      *version));
  }
  if (settings.workload_aware_scheduling)
    if (auto found = co_await find_workload_scheduling(api); !found)
      co_return failed(found.error().in("unable to create batch scheduler manager"));
  auto served = co_await discover(api);
  if (!served)
    co_return failed(served.error().in("unable to detect cluster type (OpenShift vs Kubernetes)"));
  settings.cert_manager = served->cert_manager;
  const auto ingress = process_environment("USE_INGRESS_ON_OPENSHIFT").value_or("");
  settings.openshift_routes =
      served->openshift && ingress != "true" && ingress != "True" && ingress != "TRUE";
  co_return Result<void>{};
}

// Ends the process's work on the first signal, the process itself on the second.
class Signals {
 public:
  Signals(AsioLoop& loop, std::stop_source stop)
      : set_(loop.context(), SIGINT, SIGTERM), stop_(std::move(stop)) {
    wait();
  }
  void cancel() { set_.cancel(); }

 private:
  void wait() {
    set_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      if (stop_.stop_requested()) std::_Exit(1);
      log::info("Stopping and waiting for what is in flight");
      stop_.request_stop();
      wait();
    });
  }
  boost::asio::signal_set set_;
  std::stop_source stop_;
};

struct Listeners {
  std::unique_ptr<HttpServer> health = {};
  std::unique_ptr<HttpServer> metrics = {};
};

Result<Listeners> listen(AsioLoop& loop, const Options& options, const Metrics& metrics) {
  Listeners out;
  if (options.probe_addr != "0" && !options.probe_addr.empty()) {
    auto server = HttpServer::listen(loop, options.probe_addr, answer_health);
    if (!server) return std::unexpected(server.error());
    out.health = std::move(*server);
  }
  if (options.metrics_addr != "0") {
    const auto address = options.metrics_addr.empty() ? std::string(":8080") : options.metrics_addr;
    auto server =
        HttpServer::listen(loop, address, [&metrics](std::string_view target) -> HttpAnswer {
          if (target.substr(0, target.find('?')) != "/metrics")
            return {.status = 404, .body = "404 page not found\n"};
          return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = metrics.text()};
        });
    if (!server) return std::unexpected(server.error());
    out.metrics = std::move(*server);
  }
  return out;
}

void log_namespaces(const std::vector<std::string>& namespaces) {
  if (namespaces.size() == 1 && namespaces.front().empty())
    return log::info("Flag watchNamespace is not set. Watch custom resources in all namespaces.",
                     {{"logger", "setup"}});
  if (namespaces.size() == 1)
    return log::info("Only watch custom resources in the namespace.",
                     {{"logger", "setup"}, {"namespace", namespaces.front()}});
  JsonArray list(namespaces.begin(), namespaces.end());
  log::info("Only watch custom resources in multiple namespaces.",
            {{"logger", "setup"}, {"namespaces", list}});
}

void log_scheduler(const Options& options) {
  if (options.enable_batch_scheduler)
    log::info("Feature flag enable-batch-scheduler is deprecated. Use batch-scheduler=volcano.",
              {{"logger", "setup"}});
  else if (!options.batch_scheduler.empty())
    log::info("Feature flag batch-scheduler is enabled",
              {{"logger", "setup"}, {"scheduler name", options.batch_scheduler}});
}

// Which controllers of feature gates run; people look for these lines. Source: spec/07 §2.
void log_controllers(const controllers::Settings& settings) {
  const auto say = [](const char* text) { log::info(text, {{"logger", "setup"}}); };
  if (!settings.build.mtls)
    say("RayClusterMTLS feature gate is disabled, skipping mTLS controller setup");
  else if (!settings.cert_manager)
    say("RayClusterMTLS feature gate is enabled but cert-manager is not installed, the mTLS "
        "controller is disabled");
  say(settings.cron_jobs
          ? "RayCronJob feature gate is enabled, starting RayCronJob controller"
          : "RayCronJob feature gate is disabled, skipping RayCronJob controller setup");
  say(settings.network_policies
          ? "RayClusterNetworkPolicy feature gate is enabled, starting NetworkPolicy controller"
          : "RayClusterNetworkPolicy feature gate is disabled, skipping NetworkPolicy controller "
            "setup");
}

// Watches at once, so that a new leader knows the world already; acts while it is the leader.
Task<void> lead(AsioLoop& loop, kube::Api& api, Random& random, Operator& op,
                std::string namespace_, std::stop_token stop) {
  kube::LeaderElection election(
      loop, api, random,
      {.lease = {std::move(namespace_), kLeaseName},
       .identity = fmt::format("{}_{}", host_name(), random_uuid(random))});
  Scope scope(loop);
  election.on_started = [&] { scope.spawn("work", op.work(stop)); };
  election.on_lost = [] {
    // Another may be writing already: nothing of ours may follow.
    log::error("leader election lost");
    std::_Exit(1);
  };
  scope.spawn("watch", op.watch(stop));
  scope.spawn("election", election.run(stop));
  co_await scope.join();
}

Task<Result<void>> serve(AsioLoop& loop, kube::Api& api, controllers::Settings settings,
                         Options options) {
  if (auto ok = co_await complete_settings(api, settings); !ok) co_return ok;
  log_controllers(settings);
  SystemRandom random;
  settings.seed = fresh_seed(random);
  TimeZones zones(process_environment);
  settings.zones = [&zones](std::string_view name) { return zones.find(name); };
  Metrics metrics;
  auto listeners = listen(loop, options, metrics);
  if (!listeners) co_return std::unexpected(listeners.error().in("unable to start manager"));
  kube::HttpClient client(
      loop, {.proxy = kube::proxies_from(kube::ConfigSource::of_process("").environment)});
  Operator* running = nullptr;
  RayDashboard dashboard(
      fetch_over(client), api,
      [&running](const kube::ObjectKey& secret) { return running->token_of(secret); },
      settings.use_kubernetes_proxy);
  Operator op(loop, api, dashboard, random,
              {.settings = std::move(settings),
               .namespaces = options.namespaces(),
               .reporting_instance = "kuberay-operator-" + host_name(),
               .observer = &metrics});
  running = &op;

  std::stop_source stop;
  Signals signals(loop, stop);
  std::stop_callback limit(stop.get_token(), [&loop] {
    loop.after(kGrace, [] {
      log::error("failed waiting for all runnables to end within grace period of 30s");
      std::_Exit(1);
    });
  });
  log::info("starting manager", {{"logger", "setup"}});
  if (options.leader_election)
    co_await lead(loop, api, random, op, options.leader_election_namespace, stop.get_token());
  else
    co_await op.run(stop.get_token());
  signals.cancel();
  co_return Result<void>{};
}

Result<void> set_up_logs(const Options& options, AsioLoop& loop) {
  const auto format = [](const std::string& name) {
    return name == "console" ? LogFormat::Console : LogFormat::Json;
  };
  auto sink = make_log_sink({.console = format(options.log_stdout_encoder),
                             .file = options.log_file,
                             .file_format = format(options.log_file_encoder)},
                            [&loop] { return loop.now(); });
  if (!sink) return std::unexpected(sink.error());
  log::set_sink(std::move(*sink));
  log::set_level(options.log_verbosity > 0   ? log::Level::Debug
                 : options.log_verbosity < 0 ? log::Level::Error
                                             : log::Level::Info);
  return {};
}

}  // namespace

int run_manager(const std::vector<std::string>& arguments) {
  auto command = parse_command_line(arguments);
  if (!command.options) {
    std::fputs(command.text.c_str(), stderr);
    return command.exit_code;
  }
  auto options = std::move(*command.options);
  if (!options.config_path.empty()) {
    auto text = read_file(options.config_path);
    if (!text) return fail("failed to read config file", text.error());
    if (auto ok = apply_config_file(options, *text); !ok)
      return fail("failed to decode config file", ok.error());
  }
  auto settings = make_settings(options, process_environment);
  if (!settings) return fail("cannot use the configuration", settings.error());
  AsioLoop loop;
  if (auto ok = set_up_logs(options, loop); !ok) return fail("cannot write logs", ok.error());
  if (options.forced_cluster_upgrade)
    log::info("Deprecated feature flag forced-cluster-upgrade is set, which has no effect.",
              {{"logger", "setup"}});
  log_scheduler(options);
  log_namespaces(options.namespaces());
  log::info("Setup manager", {{"logger", "setup"}});
  auto config = kube::load_client_config(kube::ConfigSource::of_process(options.kubeconfig));
  if (!config) return fail("unable to get kubeconfig", config.error());
  if (options.leader_election && options.leader_election_namespace.empty()) {
    if (!config->context.empty())
      return fail("unable to start manager",
                  {.message = "unable to find leader election namespace: not running in-cluster, "
                              "please specify LeaderElectionNamespace"});
    options.leader_election_namespace = config->namespace_;
  }
  auto api = kube::make_http_api(
      loop, {.config = std::move(*config),
             .user_agent = fmt::format("kuberay-operator/{}", operator_version()),
             .qps = options.qps,
             .burst = options.burst});
  if (!api) return fail("unable to start manager", api.error());
  auto ended = run_to_end(loop, serve(loop, **api, std::move(*settings), std::move(options)));
  log::set_sink(nullptr);  // it reads the loop's clock
  if (!ended) return fail("problem running manager", ended.error());
  return 0;
}

}  // namespace manta::operator_
