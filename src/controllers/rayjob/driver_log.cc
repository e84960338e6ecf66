#include "controllers/rayjob/driver_log.h"

#include "controllers/rayjob/dashboard.h"
#include "controllers/writes.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

constexpr std::string_view kLane = "log";
// How long Ray may fail to tell the log before the cluster goes without it.
constexpr std::chrono::seconds kPatience{15};

// In K8sJobMode the submitter's Pod has it, which stays.
bool has_log_to_keep(const Draft& draft) {
  const auto mode = submission_mode(draft.spec());
  const bool nobody_else_has =
      mode == Mode::Http || mode == Mode::Interactive || mode == Mode::Sidecar;
  return nobody_else_has && !draft.status.dashboardURL.empty() && !draft.status.jobId.empty() &&
         !draft.seen.heads.empty() && dashboard_reachable(draft.seen);
}

kube::Write log_write(const Draft& draft, std::string text) {
  const auto& job = draft.job();
  const auto& cluster = draft.status.rayClusterName;
  const auto name = log_config_map_name(cluster);
  auto write = create(
      kube::kConfigMaps,
      JsonObject{
          {"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           JsonObject{{"name", name},
                      {"namespace", job.meta.key.namespace_},
                      {"labels", JsonObject{{ray::kLabelOriginCrName, job.meta.key.name},
                                            {ray::kLabelOriginCrd, ray::kKindRayJob},
                                            {ray::kLabelCluster, cluster}}},
                      {"ownerReferences", JsonArray{ray::owner_json(job.meta, ray::kKindRayJob)}}}},
          {"data", JsonObject{{"driver.log", std::move(text)}}}},
      kLane);
  write.tolerate = {ErrorCode::AlreadyExists};  // from a pass that could not delete the cluster
  write.why = "its cluster is deleted next";
  write.done_event = normal("KeptDriverLog", "Create",
                            fmt::format("Kept the end of job {}'s log in ConfigMap {}/{}",
                                        draft.status.jobId, job.meta.key.namespace_, name));
  write.failed_event = warning(
      "FailedToKeepDriverLog", "Create",
      fmt::format("The log of job {} goes with its cluster: {{error}}", draft.status.jobId));
  return write;
}

}  // namespace

std::string log_config_map_name(std::string_view cluster) {
  return fmt::format("{}-driver-log", cluster);
}

bool log_is_kept(Draft& draft) {
  if (!draft.settings.job_gates.keep_log || !has_log_to_keep(draft)) return true;
  // Said by the failed write's event.
  const auto refused = draft.context.failures.find(kLane);
  if (refused != draft.context.failures.end() && refused->second.withheld) return true;
  auto answer = ask_job_log(draft);
  if (!answer) return false;
  if (*answer) {
    draft.plan.stage().push_back(log_write(draft, std::move(**answer)));
    return true;
  }
  if (answer->error().code == ErrorCode::NotFound) return true;  // it was never submitted
  const auto since = draft.context.facts.find(kJobLogFact)->second.failing_since;
  if (since && !draft.has_come(*since + kPatience)) return false;
  draft.plan.events.push_back(warning("FailedToKeepDriverLog", "Create",
                                      fmt::format("The log of job {} goes with its cluster: {}",
                                                  draft.status.jobId, answer->error().message)));
  return true;
}

}  // namespace manta::controllers::rayjob
