#include "controllers/rayjob/tail.h"

#include "controllers/raycluster/status.h"

namespace manta::controllers::rayjob {

void count_attempt(ray::RayJobStatus& status, const ray::RayJobSpec& spec) {
  auto failed = status.failed.value_or(0);
  auto succeeded = status.succeeded.value_or(0);
  if (status.jobDeploymentStatus == "Failed") ++failed;
  if (status.jobDeploymentStatus == "Complete" && status.jobStatus == "SUCCEEDED") ++succeeded;
  status.failed = failed;
  status.succeeded = succeeded;
  const bool final_reason =
      status.reason == "DeadlineExceeded" || status.reason == "JobStatusCheckTimeoutExceeded";
  if (status.jobDeploymentStatus == "Failed" && spec.backoffLimit && failed <= *spec.backoffLimit &&
      !final_reason)
    status.jobDeploymentStatus = "Retrying";
}

bool worth_writing(const ray::RayJobStatus& before, const ray::RayJobStatus& after) {
  return before.jobStatus != after.jobStatus ||
         before.jobDeploymentStatus != after.jobDeploymentStatus ||
         before.jobStatusCheckFailureStartTime != after.jobStatusCheckFailureStartTime ||
         before.conditions != after.conditions ||
         // Why it does not run yet; later the message is Ray's and changes with every poll.
         (after.jobDeploymentStatus == "Initializing" && before.message != after.message) ||
         raycluster::differs(before.rayClusterStatus, after.rayClusterStatus);
}

}  // namespace manta::controllers::rayjob
