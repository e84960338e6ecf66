// What a RayJob asks of Ray's dashboard. Source: spec/04 §3.3, §6.
#pragma once

#include "controllers/rayjob/draft.h"

#include <optional>
#include <string>

namespace manta::controllers::rayjob {

/// "<service>.<ns>.svc.<domain>:<port>" of the cluster's head Service; nothing while it is not
/// there or has no port named dashboard.
std::optional<std::string> dashboard_address(const RayJobSeen& seen, const Settings& settings);

/// False when the cluster asks for a token that cannot be read: nobody is asked then.
bool dashboard_reachable(const RayJobSeen& seen);

kube::FactRequest job_info_request(const Draft& draft);
/// The request of one call; `operation` as RayDashboard names them.
Json dashboard_request(const Draft& draft, std::string_view operation);

/// POSTs the job; fails when the spec holds what cannot be sent.
Result<kube::Write> submit_write(const Draft& draft);
kube::Write stop_write(const Draft& draft, std::string_view why);

struct JobInfo {
  std::string status = {};
  std::string message = {};
  std::optional<Time> start = {};
  std::optional<Time> end = {};
};
Result<JobInfo> parse_job_info(const Json& answer);

/// Asks Ray for the job from now on; its newest answer, or nothing while there is none.
std::optional<Result<JobInfo>> ask_job_info(Draft& draft);

/// The end of the job's log, asked for from now on; nothing while there is no answer. RJ-39
std::optional<Result<std::string>> ask_job_log(Draft& draft);

/// True when the job of a RayJob that is being suspended runs no longer on the cluster it selected
/// (any other cluster goes with the suspension). Otherwise Ray is asked to stop it. RJ-25
bool selected_job_stopped(Draft& draft);

}  // namespace manta::controllers::rayjob
