#include "cli/job_words.h"

namespace manta::cli {

std::optional<JobWait> job_wait(const Json& ray_job) {
  const auto message = string_at(ray_job, {"status", "message"});
  if (message.empty() || message.starts_with("Pod ")) return std::nullopt;
  if (string_at(ray_job, {"status", "jobDeploymentStatus"}) == "Retrying")
    return JobWait{"is tried again", std::string(message)};
  const auto status = string_at(ray_job, {"status", "jobStatus"});
  if (!status.empty() && status != "PENDING") return std::nullopt;
  return JobWait{"waits", std::string(message)};
}

}  // namespace manta::cli
