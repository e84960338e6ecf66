// Says on RayCronJobs that nobody looks after them while their feature gate is off. On a real
// cluster an operator's log has it; here nobody reads that first.
#pragma once

#include "base/loop.h"
#include "base/random.h"
#include "base/task.h"
#include "kube/api.h"

#include <stop_token>
#include <string>
#include <string_view>

namespace manta::cli {

/// For whoever creates one, and for the event.
std::string cron_job_gate_off(std::string_view manta_command);

/// A Warning event RayCronJobGateOff on each RayCronJob that is there or comes, until stopped.
Task<void> tell_of_the_cron_job_gate(Loop& loop, kube::Api& api, Random& random,
                                     std::string manta_command, std::stop_token stop);

}  // namespace manta::cli
