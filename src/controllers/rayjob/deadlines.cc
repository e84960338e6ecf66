#include "controllers/rayjob/deadlines.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

bool deadline_passed(Draft& draft, const ray::Opt<ray::Int32>& seconds, std::string_view reason,
                     std::string_view field) {
  if (!seconds || !draft.status.startTime) return false;
  if (!draft.has_come(*draft.status.startTime + std::chrono::seconds{*seconds})) return false;
  draft.fail(reason,
             fmt::format("The RayJob has passed the {0}. StartTime: {1} +0000 UTC. {2}: {3}", field,
                         plain_time(*draft.status.startTime),
                         field == "activeDeadlineSeconds" ? "ActiveDeadlineSeconds"
                                                          : "PreRunningDeadlineSeconds",
                         *seconds));
  return true;
}

}  // namespace

std::string plain_time(Time time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(
                         std::chrono::time_point_cast<std::chrono::system_clock::duration>(time))));
}

bool active_deadline_passed(Draft& draft) {
  return deadline_passed(draft, draft.spec().activeDeadlineSeconds, "DeadlineExceeded",
                         "activeDeadlineSeconds");
}

bool pre_running_deadline_passed(Draft& draft) {
  return deadline_passed(draft, draft.spec().preRunningDeadlineSeconds,
                         "PreRunningDeadlineExceeded", "preRunningDeadlineSeconds");
}

bool transition_grace_passed(Draft& draft) {
  auto& status = draft.status;
  if (!is_terminal_job(status.jobStatus) || !status.rayJobInfo.endTime) return false;
  if (!draft.has_come(*status.rayJobInfo.endTime + draft.settings.job_transition_grace))
    return false;
  draft.move_to(status.jobStatus == "FAILED" ? "Failed" : "Complete");
  status.reason = "JobDeploymentStatusTransitionGracePeriodExceeded";
  status.message =
      "JobDeploymentStatus does not transition to Complete or Failed within the grace period after "
      "JobStatus reaches a terminal state.";
  return true;
}

bool status_check_timed_out(Draft& draft) {
  const auto since = draft.status.jobStatusCheckFailureStartTime;
  const auto limit = draft.settings.job_check_timeout;
  if (!since || !draft.has_come(*since + limit)) return false;
  draft.fail("JobStatusCheckTimeoutExceeded",
             fmt::format("Job status checks have been failing since {}; exceeded timeout of {}s",
                         plain_time(*since),
                         std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
  return true;
}

}  // namespace manta::controllers::rayjob
