// Says on RayCronJobs that nobody looks after them while their feature gate is off. On a real
// cluster an operator's log has it; here nobody reads that first.
#pragma once

#include "base/loop.h"
#include "base/random.h"
#include "base/task.h"
#include "kube/api.h"

#include <stop_token>
#include <string_view>

namespace manta::cli {

/// For whoever creates one, and for the event.
inline constexpr std::string_view kCronJobGateOff =
    "the operator runs without its feature gate RayCronJob, so no RayJob is started; run: manta "
    "down "
    "&& manta up --feature-gates RayCronJob=true";

/// A Warning event RayCronJobGateOff on each RayCronJob that is there or comes, until stopped.
Task<void> tell_of_the_cron_job_gate(Loop& loop, kube::Api& api, Random& random,
                                     std::stop_token stop);

}  // namespace manta::cli
