// The clocks that end a RayJob. Source: spec/04 §2.1, §2.7.
#pragma once

#include "controllers/rayjob/draft.h"

namespace manta::controllers::rayjob {

/// True when spec.activeDeadlineSeconds has passed; the status is then Failed.
/// Under gate RayJobStopAtDeadline Ray is asked to stop the job first. RJ-11
bool active_deadline_passed(Draft& draft);
/// The same for spec.preRunningDeadlineSeconds.
bool pre_running_deadline_passed(Draft& draft);
/// preRunningDeadlineSeconds while Waiting; under gate RayJobWaitingWindow it counts anew from
/// there, so that a slow cluster takes nothing of the user's time. RJ-18
bool waiting_deadline_passed(Draft& draft);
/// Under gate RayJobHeadInitFailure: heads whose init container fails have been made often enough.
/// RJ-37
bool head_init_failed(Draft& draft);
/// The Ray job ended long ago, by its own account, and the RayJob still runs.
bool transition_grace_passed(Draft& draft);
/// Asking the dashboard has failed for too long.
bool status_check_timed_out(Draft& draft);
/// Ray did not say how the job does, or does not know it while nobody is left who could submit it:
/// starts the clock, and after half a minute says so in the conditions.
void count_failed_check(Draft& draft);
/// It said so now.
void end_failed_checks(Draft& draft);
/// Nor can it be asked, without its token; and now it can.
void tell_unreachable(Draft& draft);
void end_unreachable(Draft& draft);
/// InteractiveMode: no clock runs while Ray does not know the job, which its user may submit
/// whenever he likes; but that it waits for him is said.
void tell_unknown_job(Draft& draft);

/// How long a RayJob may go on after its submitter has ended.
inline constexpr std::chrono::seconds kSubmitterFinishedTimeout{30};

/// "2026-08-19 13:21:52".
std::string plain_time(Time time);

}  // namespace manta::controllers::rayjob
