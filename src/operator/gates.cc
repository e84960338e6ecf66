#include "operator/gates.h"

#include "base/excerpt.h"
#include "base/nearest.h"
#include "base/text.h"
#include "operator/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <vector>

namespace manta::operator_ {
namespace {

// Ours: not upstream's, so AllAlpha does not move them.
enum class Stage { Alpha, Beta, Ours };
struct Gate {
  std::string_view name;
  bool by_default;
  Stage stage;
};
constexpr Gate kGates[] = {
    {"RayClusterStatusConditions", true, Stage::Beta},
    {"RayJobDeletionPolicy", true, Stage::Beta},
    {"RayMultiHostIndexing", true, Stage::Beta},
    {"RayServiceIncrementalUpgrade", true, Stage::Beta},
    {"RayCronJob", false, Stage::Alpha},
    {"SidecarSubmitterRestart", false, Stage::Alpha},
    {"RayClusterNetworkPolicy", false, Stage::Alpha},
    {"GCSFaultToleranceEmbeddedStorage", false, Stage::Alpha},
    {"RayClusterMTLS", false, Stage::Alpha},
    {"RayClusterHistoryServer", false, Stage::Alpha},
    {"KubernetesWAS", false, Stage::Alpha},
    // What each does: docs/differences.md.
    {"RayClusterQuotaCondition", false, Stage::Ours},
    {"RayClusterStrictProvisioned", false, Stage::Ours},
    {"RayClusterDeleteOrphans", false, Stage::Ours},
    {"RayClusterSuspendServices", false, Stage::Ours},
    {"RayClusterTrimPending", false, Stage::Ours},
    {"RayClusterReplaceSlices", false, Stage::Ours},
    {"RayClusterScheduledResources", false, Stage::Ours},
    {"RayClusterScopedAutoscalerRole", false, Stage::Ours},
    {"RayClusterStableSelectors", false, Stage::Ours},
    {"RayClusterHttpProbes", false, Stage::Ours},
    {"RayClusterMinimalRedisCleanup", false, Stage::Ours},
    {"RayClusterPortsFromParams", false, Stage::Ours},
    {"RayClusterReplaceLostHead", false, Stage::Ours},
    {"RayClusterWorkerBackoff", false, Stage::Ours},
    {"RayClusterFollowEdits", false, Stage::Ours},
    {"RayClusterReplicasOwner", false, Stage::Ours},
    {"RayClusterStrictParams", false, Stage::Ours},
    {"RayJobCountLostHeads", false, Stage::Ours},
    {"RayJobPatience", false, Stage::Ours},
    {"RayJobStopAtDeadline", false, Stage::Ours},
    {"RayJobTotalDeadline", false, Stage::Ours},
    {"RayJobWaitingWindow", false, Stage::Ours},
    {"RayJobSelectorSuspend", false, Stage::Ours},
    {"RayJobSuspendWithRules", false, Stage::Ours},
    {"RayJobVerbatimEntrypoint", false, Stage::Ours},
    {"RayJobSubmitterDefaults", false, Stage::Ours},
    {"RayJobPlainMetadata", false, Stage::Ours},
    {"RayJobHeadInitFailure", false, Stage::Ours},
    {"RayJobKeepLog", false, Stage::Ours},
    {"RayJobReuseCluster", false, Stage::Ours},
    {"RayCronJobLatestTick", false, Stage::Ours},
    {"RayCronJobPolicies", false, Stage::Ours},
    {"RayCronJobCountFromEdit", false, Stage::Ours},
    {"RayServiceDropUnserved", false, Stage::Ours},
    {"RayServiceRevive", false, Stage::Ours},
    {"RayServiceTellDrift", false, Stage::Ours},
    {"RayServiceInheritServiceMeta", false, Stage::Ours},
    {"RayServiceFreshStatus", false, Stage::Ours},
    {"RayServiceDrainWorkers", false, Stage::Ours},
    {"RayServiceDeleteIdle", false, Stage::Ours},
    {"RayServiceSharedToken", false, Stage::Ours},
};

constexpr std::size_t kLongestName = 128;  // in an error
constexpr std::string_view kBlank = " \t\r\n";

// The reference's words, and what was meant: the nearest one, or else its own gates.
std::string unrecognized(std::string_view name) {
  std::vector<std::string> all = {"AllAlpha", "AllBeta"};
  std::vector<std::string_view> upstream;
  for (const auto& gate : kGates) {
    all.emplace_back(gate.name);
    if (gate.stage != Stage::Ours) upstream.push_back(gate.name);
  }
  const auto near = nearest(name, all);
  const auto hint =
      near.empty()
          ? fmt::format("there are {}, AllAlpha, AllBeta, and those of docs/differences.md",
                        fmt::join(upstream, ", "))
          : fmt::format("is {} meant?", near);
  return fmt::format("unrecognized feature gate: {}; {}", excerpt(name, kLongestName), hint);
}

}  // namespace

Gates default_gates() {
  Gates gates;
  for (const auto& gate : kGates) gates.emplace(gate.name, gate.by_default);
  return gates;
}

Result<Gates> parse_gates(std::string_view text) {
  auto gates = default_gates();
  std::map<std::string, bool, std::less<>> named;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto item = trim(text.substr(0, comma), kBlank);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    if (equals == std::string_view::npos)
      return failed(ErrorCode::Invalid, fmt::format("missing bool value for {}", item));
    const auto name = trim(item.substr(0, equals), kBlank);
    const auto value = trim(item.substr(equals + 1), kBlank);
    const auto on = parse_go_bool(value);
    if (!on)
      return failed(ErrorCode::Invalid,
                    fmt::format("invalid value of {}={}, err: strconv.ParseBool: parsing \"{}\": "
                                "invalid syntax",
                                name, value, value));
    if (name != "AllAlpha" && name != "AllBeta" && !gates.contains(name))
      return failed(ErrorCode::Invalid, unrecognized(name));
    named[std::string(name)] = *on;
  }
  for (const auto& gate : kGates) {
    if (gate.stage == Stage::Ours) continue;
    const auto all = named.find(gate.stage == Stage::Alpha ? "AllAlpha" : "AllBeta");
    if (all != named.end()) gates.find(gate.name)->second = all->second;
  }
  for (const auto& [name, on] : named)
    if (const auto found = gates.find(name); found != gates.end()) found->second = on;
  return gates;
}

void apply_gates(const Gates& gates, controllers::Settings& settings) {
  const auto on = [&](std::string_view name) {
    const auto found = gates.find(name);
    return found != gates.end() && found->second;
  };
  settings.status_conditions = on("RayClusterStatusConditions");
  settings.job_deletion_policy = on("RayJobDeletionPolicy");
  settings.build.multi_host_indexing = on("RayMultiHostIndexing");
  settings.incremental_upgrade = on("RayServiceIncrementalUpgrade");
  settings.cron_jobs = on("RayCronJob");
  settings.build.sidecar_submitter_restart = on("SidecarSubmitterRestart");
  settings.network_policies = on("RayClusterNetworkPolicy");
  settings.embedded_gcs_storage = on("GCSFaultToleranceEmbeddedStorage");
  settings.build.mtls = on("RayClusterMTLS");
  settings.build.history_server = on("RayClusterHistoryServer");
  settings.workload_aware_scheduling = on("KubernetesWAS");
  settings.job_gates = {.count_lost_heads = on("RayJobCountLostHeads"),
                        .patience = on("RayJobPatience"),
                        .stop_at_deadline = on("RayJobStopAtDeadline"),
                        .total_deadline = on("RayJobTotalDeadline"),
                        .waiting_window = on("RayJobWaitingWindow"),
                        .selector_suspend = on("RayJobSelectorSuspend"),
                        .suspend_with_rules = on("RayJobSuspendWithRules"),
                        .head_init_failure = on("RayJobHeadInitFailure"),
                        .keep_log = on("RayJobKeepLog"),
                        .reuse_cluster = on("RayJobReuseCluster"),
                        .latest_tick = on("RayCronJobLatestTick"),
                        .cron_policies = on("RayCronJobPolicies"),
                        .count_from_edit = on("RayCronJobCountFromEdit")};
  settings.cluster_gates = {.quota_condition = on("RayClusterQuotaCondition"),
                            .strict_provisioned = on("RayClusterStrictProvisioned"),
                            .delete_orphans = on("RayClusterDeleteOrphans"),
                            .suspend_services = on("RayClusterSuspendServices"),
                            .trim_pending = on("RayClusterTrimPending"),
                            .replace_slices = on("RayClusterReplaceSlices"),
                            .replace_lost_head = on("RayClusterReplaceLostHead"),
                            .worker_backoff = on("RayClusterWorkerBackoff"),
                            .follow_edits = on("RayClusterFollowEdits"),
                            .replicas_owner = on("RayClusterReplicasOwner"),
                            .strict_start_params = on("RayClusterStrictParams")};
  settings.service_gates = {.drop_unserved = on("RayServiceDropUnserved"),
                            .revive = on("RayServiceRevive"),
                            .tell_drift = on("RayServiceTellDrift"),
                            .inherit_service_meta = on("RayServiceInheritServiceMeta"),
                            .fresh_status = on("RayServiceFreshStatus"),
                            .delete_idle = on("RayServiceDeleteIdle"),
                            .shared_token = on("RayServiceSharedToken")};
  settings.build.scoped_autoscaler_role = on("RayClusterScopedAutoscalerRole");
  settings.build.stable_selectors = on("RayClusterStableSelectors");
  settings.build.http_probes = on("RayClusterHttpProbes");
  settings.build.minimal_redis_cleanup = on("RayClusterMinimalRedisCleanup");
  settings.build.ports_from_params = on("RayClusterPortsFromParams");
  settings.build.scheduled_resources = on("RayClusterScheduledResources");
  settings.build.verbatim_entrypoint = on("RayJobVerbatimEntrypoint");
  settings.build.submitter_defaults = on("RayJobSubmitterDefaults");
  settings.build.plain_job_metadata = on("RayJobPlainMetadata");
  settings.build.serve_drain = on("RayServiceDrainWorkers");
}

}  // namespace manta::operator_
