#include "operator/startup.h"

#include "base/log.h"
#include "base/text.h"
#include "operator/discovery.h"
#include "operator/gates.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace manta::operator_ {
namespace {

constexpr const char* kLogger = "setup";

void say(std::string_view text) { log::info(text, {{"logger", kLogger}}); }

void log_gates(const std::string& text) {
  const auto gates = parse_gates(text);
  if (!gates) return;  // told already
  JsonObject shown;
  for (const auto& [name, on] : *gates) shown[name] = on;
  log::info("Loaded feature gates", {{"logger", kLogger}, {"featureGates", std::move(shown)}});
}

void log_scheduler(const Options& options) {
  if (options.enable_batch_scheduler)
    say("Feature flag enable-batch-scheduler is deprecated. Use batch-scheduler=volcano.");
  else if (!options.batch_scheduler.empty())
    log::info("Feature flag batch-scheduler is enabled",
              {{"logger", kLogger}, {"scheduler name", options.batch_scheduler}});
}

void log_namespaces(const std::vector<std::string>& namespaces) {
  if (namespaces.size() == 1 && namespaces.front().empty())
    return say("Flag watchNamespace is not set. Watch custom resources in all namespaces.");
  if (namespaces.size() == 1)
    return log::info("Only watch custom resources in the namespace.",
                     {{"logger", kLogger}, {"namespace", namespaces.front()}});
  log::info("Only watch custom resources in multiple namespaces.",
            {{"logger", kLogger}, {"namespaces", JsonArray(namespaces.begin(), namespaces.end())}});
}

// Which controllers of feature gates run; people look for these lines.
void log_controllers(const controllers::Settings& settings) {
  if (!settings.build.mtls)
    say("RayClusterMTLS feature gate is disabled, skipping mTLS controller setup");
  else if (!settings.cert_manager)
    say("RayClusterMTLS feature gate is enabled but cert-manager is not installed, the mTLS "
        "controller is disabled");
  say(settings.cron_jobs ? "RayCronJob feature gate is enabled, starting RayCronJob controller"
                         : "RayCronJob feature gate is disabled, skipping RayCronJob controller "
                           "setup");
  say(settings.network_policies
          ? "RayClusterNetworkPolicy feature gate is enabled, starting NetworkPolicy controller"
          : "RayClusterNetworkPolicy feature gate is disabled, skipping NetworkPolicy controller "
            "setup");
}

bool is_on(const Environment& environment, std::string_view name) {
  return lower_case(environment(name).value_or("")) == "true";
}

Task<Started<>> check_version(kube::Api& api) {
  auto version = co_await server_version(api);
  if (!version)
    co_return not_started(
        "SidecarSubmitterRestart feature gate enabled but unable to detect K8s version. Feature "
        "requires K8s 1.35+.",
        version.error());
  const auto enough = version_at_least(*version, 1, 35);
  if (!enough) co_return not_started("Failed to compare K8s version.", enough.error());
  if (!*enough)
    co_return not_started("SidecarSubmitterRestart feature gate requires K8s 1.35+",
                          {.code = ErrorCode::Invalid,
                           .message = fmt::format("current version {} is below 1.35", *version)});
  co_return Started<>{};
}

}  // namespace

std::unexpected<StartFailure> not_started(std::string what, Error error) {
  return std::unexpected(StartFailure{std::move(what), std::move(error)});
}

Started<controllers::Settings> settle_options(const Options& options,
                                              const Environment& environment) {
  if (const auto gates = parse_gates(options.feature_gates); !gates)
    return not_started("Unable to set flag gates for known features", gates.error());
  log_gates(options.feature_gates);
  auto settings = make_settings(options, environment);
  if (!settings) return not_started("batch scheduler configs validation failed", settings.error());
  log_scheduler(options);
  if (auto ok = check_options(options); !ok)
    return not_started("unable to start manager", ok.error());
  if (options.reconcile_concurrency < 1)
    log::info("reconcile-concurrency below 1 counts as 1",
              {{"logger", kLogger}, {"reconcileConcurrency", options.reconcile_concurrency}});
  log_namespaces(options.namespaces());
  return std::move(*settings);
}

Task<Started<>> complete_settings(kube::Api& api, controllers::Settings& settings,
                                  const Environment& environment) {
  if (settings.build.sidecar_submitter_restart)
    if (auto ok = co_await check_version(api); !ok) co_return ok;
  if (settings.workload_aware_scheduling)
    if (auto found = co_await find_workload_scheduling(api); !found)
      co_return not_started("unable to create batch scheduler manager", found.error());
  const auto served = co_await discover(api);
  if (!served)
    co_return not_started("unable to detect cluster type (OpenShift vs Kubernetes)",
                          served.error());
  settings.cert_manager = served->cert_manager;
  settings.openshift_routes =
      served->openshift && !is_on(environment, ray::kOperatorEnvOpenShiftIngress);
  log_controllers(settings);
  co_return Started<>{};
}

Started<std::string> election_namespace(const Options& options, const kube::ConfigSource& source) {
  if (!options.leader_election_namespace.empty()) return options.leader_election_namespace;
  std::ifstream file(source.service_account_dir + "/namespace");
  std::string name;
  if (file >> name) return name;
  return not_started(
      "unable to start manager",
      {.code = ErrorCode::NotFound,
       .message = "unable to find leader election namespace: not running in-cluster, please "
                  "specify LeaderElectionNamespace"});
}

}  // namespace manta::operator_
