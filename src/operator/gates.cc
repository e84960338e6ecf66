#include "operator/gates.h"

#include "operator/flags.h"

#include <fmt/format.h>

#include <array>
#include <set>

namespace manta::operator_ {
namespace {

enum class Stage { Alpha, Beta };
struct Gate {
  std::string_view name;
  bool by_default;
  Stage stage;
};
constexpr std::array<Gate, 11> kGates = {{
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
}};

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
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
    const auto item = trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    if (equals == std::string_view::npos)
      return failed(ErrorCode::Invalid, fmt::format("missing bool value for {}", item));
    const auto name = trim(item.substr(0, equals));
    const auto value = trim(item.substr(equals + 1));
    const auto on = parse_go_bool(value);
    if (!on)
      return failed(ErrorCode::Invalid,
                    fmt::format("invalid value of {}={}, err: strconv.ParseBool: parsing \"{}\": "
                                "invalid syntax",
                                name, value, value));
    if (name != "AllAlpha" && name != "AllBeta" && !gates.contains(name))
      return failed(ErrorCode::Invalid, fmt::format("unrecognized feature gate: {}", name));
    named[std::string(name)] = *on;
  }
  for (const auto& gate : kGates) {
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
}

}  // namespace manta::operator_
