// The end of a driver's log outlives its cluster, where nothing else keeps it: in HTTPMode,
// InteractiveMode and SidecarMode, under gate RayJobKeepLog. RJ-39
//
// It becomes a ConfigMap of the RayJob, one for each cluster, which goes with the RayJob. Not a
// field of the status: every list and watch would carry it, and the operator's own cache.
#pragma once

#include "controllers/rayjob/draft.h"

#include <string>
#include <string_view>

namespace manta::controllers::rayjob {

/// The name of the ConfigMap with the log of the job that ran on this cluster; its key is
/// "driver.log".
std::string log_config_map_name(std::string_view cluster);

/// True when the cluster may go: there is no log to keep, the plan's stages so far keep it, or it
/// cannot be had. False: Ray is being asked, for some seconds at most.
bool log_is_kept(Draft& draft);

}  // namespace manta::controllers::rayjob
