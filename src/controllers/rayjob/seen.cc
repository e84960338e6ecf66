#include "controllers/rayjob/seen.h"

#include "ray/labels.h"

namespace manta::controllers::rayjob {

Mode submission_mode(const ray::RayJobSpec& spec) {
  if (spec.submissionMode == "K8sJobMode") return Mode::K8sJob;
  if (spec.submissionMode == "HTTPMode") return Mode::Http;
  if (spec.submissionMode == "InteractiveMode") return Mode::Interactive;
  if (spec.submissionMode == "SidecarMode") return Mode::Sidecar;
  return Mode::Other;
}

bool selects_cluster(const ray::RayJobSpec& spec) { return !spec.clusterSelector.empty(); }

std::string selected_cluster(const ray::RayJobSpec& spec) {
  const auto found = spec.clusterSelector.find(ray::kLabelCluster);
  return found == spec.clusterSelector.end() ? std::string() : found->second;
}

bool has_ready_head(const RayJobSeen& seen) {
  return seen.heads.size() == 1 && seen.heads.front()->is_ready() &&
         !seen.heads.front()->meta.deleting;
}

bool is_terminal_job(std::string_view status) {
  return status == "SUCCEEDED" || status == "FAILED" || status == "STOPPED";
}

bool is_terminal_deployment(std::string_view status) {
  return status == "Complete" || status == "Failed";
}

}  // namespace manta::controllers::rayjob
