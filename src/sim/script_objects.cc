#include "sim/script_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace manta::sim {
namespace {

constexpr std::string_view kIncremental = "NewClusterWithIncrementalUpgrade";

Json pod_template(const char* container, int gpus) {
  JsonObject limits{{"cpu", "1"}, {"memory", "2Gi"}};
  if (gpus > 0) limits["nvidia.com/gpu"] = std::to_string(gpus);
  return JsonObject{
      {"spec", JsonObject{{"containers",
                           JsonArray{JsonObject{{"name", container},
                                                {"image", "ray:1"},
                                                {"resources", JsonObject{{"limits", limits}}}}}}}}};
}

Json deletion_rules(Dice& dice) {
  JsonArray rules;
  for (const auto* status : {"SUCCEEDED", "FAILED"})
    rules.push_back(JsonObject{
        {"policy",
         dice.pick(std::vector<std::string>{"DeleteWorkers", "DeleteCluster", "DeleteSelf"})},
        {"condition", JsonObject{{"jobStatus", status}, {"ttlSeconds", dice.between(0, 30)}}}});
  return JsonObject{{"deletionRules", std::move(rules)}};
}

std::string entrypoint(Dice& dice) {
  const bool succeeds = dice.chance(0.7);
  return fmt::format("python job.py --takes={} --ends={}", dice.between(1, 60),
                     succeeds ? "SUCCEEDED" : "FAILED");
}

void clean_up(Dice& dice, JsonObject& job) {
  if (dice.chance(0.6)) {
    job["shutdownAfterJobFinishes"] = true;
    if (dice.chance(0.5)) job["ttlSecondsAfterFinished"] = dice.between(1, 60);
  } else if (dice.chance(0.5)) {
    job["deletionStrategy"] = deletion_rules(dice);
  }
}

std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const auto begin = text.find(from);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + from.size());
  return text.substr(0, text.find(to));
}

}  // namespace

Json object(std::string_view kind, const std::string& name, Json spec) {
  return JsonObject{{"apiVersion", "ray.io/v1"},
                    {"kind", kind},
                    {"metadata", JsonObject{{"name", name}}},
                    {"spec", std::move(spec)}};
}

Json worker_group(Dice& dice, const char* name) {
  JsonObject group{{"groupName", name},
                   {"replicas", dice.between(0, 3)},
                   {"minReplicas", 0},
                   {"maxReplicas", 10},
                   {"rayStartParams", JsonObject{}},
                   {"template", pod_template("w", dice.chance(0.3) ? 1 : 0)}};
  if (dice.chance(0.15)) group["numOfHosts"] = 2;
  return group;
}

Json cluster_spec(Dice& dice) {
  JsonArray groups{worker_group(dice, "g")};
  if (dice.chance(0.3)) groups.push_back(worker_group(dice, "h"));
  return JsonObject{{"rayVersion", "2.54.0"},
                    {"headGroupSpec", JsonObject{{"rayStartParams", JsonObject{}},
                                                 {"template", pod_template("ray-head", 0)}}},
                    {"workerGroupSpecs", std::move(groups)}};
}

Json job_spec(Dice& dice) {
  JsonObject spec{{"entrypoint", entrypoint(dice)},
                  {"submissionMode", dice.pick(std::vector<std::string>{
                                         "K8sJobMode", "K8sJobMode", "HTTPMode", "SidecarMode"})},
                  {"rayClusterSpec", cluster_spec(dice)}};
  clean_up(dice, spec);
  if (spec["submissionMode"] != "SidecarMode" && dice.chance(0.4))
    spec["backoffLimit"] = dice.between(1, 2);
  return spec;
}

// Nothing else ends it when Ray has lost the user's job.
Json interactive_job_spec(Dice& dice) {
  JsonObject spec{{"entrypoint", entrypoint(dice)},
                  {"submissionMode", "InteractiveMode"},
                  {"rayClusterSpec", cluster_spec(dice)},
                  {"activeDeadlineSeconds", dice.between(120, 600)}};
  clean_up(dice, spec);
  if (dice.chance(0.3)) spec["preRunningDeadlineSeconds"] = dice.between(60, 600);
  return spec;
}

// The cluster may never come.
Json job_on_cluster_spec(Dice& dice, const std::string& cluster) {
  JsonObject spec{{"entrypoint", entrypoint(dice)},
                  {"submissionMode", dice.pick(std::vector<std::string>{"K8sJobMode", "HTTPMode"})},
                  {"clusterSelector", JsonObject{{"ray.io/cluster", cluster}}},
                  {"activeDeadlineSeconds", dice.between(60, 600)}};
  return spec;
}

Json service_spec(Dice& dice) {
  JsonObject spec{{"serveConfigV2", serve_config(1)},
                  {"rayClusterDeletionDelaySeconds", dice.between(1, 60)},
                  {"rayClusterConfig", cluster_spec(dice)}};
  const int what = dice.between(0, 9);
  const auto surge = dice.pick(std::vector<int>{20, 50, 100});
  const auto step = std::min(surge, dice.pick(std::vector<int>{20, 50, 100}));
  const auto interval = dice.between(1, 15);
  if (what < 4) {
    spec["upgradeStrategy"] =
        JsonObject{{"type", kIncremental},
                   {"clusterUpgradeOptions", JsonObject{{"maxSurgePercent", surge},
                                                        {"stepSizePercent", step},
                                                        {"intervalSeconds", interval},
                                                        {"gatewayClassName", "edge"}}}};
    spec["rayClusterConfig"].as_object()["enableInTreeAutoscaling"] = true;
  } else if (what < 6) {
    spec["upgradeStrategy"] = JsonObject{{"type", what == 4 ? "NewCluster" : "None"}};
  }
  return spec;
}

bool is_incremental(const Json& service_spec) {
  return string_at(service_spec, {"upgradeStrategy", "type"}) == kIncremental;
}

std::string serve_config(std::uint64_t version) {
  return fmt::format(
      "applications: [{{name: a, import_path: 'm:a', "
      "route_prefix: /, args: {{version: {}}}}}]",
      version);
}

JobFate fate_of(std::string_view entrypoint) {
  int seconds = 0;
  const auto takes = between(entrypoint, "--takes=", " ");
  std::from_chars(takes.data(), takes.data() + takes.size(), seconds);
  return {.ends = std::string(between(entrypoint, "--ends=", " ")),
          .takes = std::chrono::seconds{seconds}};
}

}  // namespace manta::sim
