// Ray objects that Ray objects make: the cluster of a RayJob or RayService, the RayJob of a
// RayCronJob. Source: spec/03 §9.6, §9.7.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <string_view>

namespace manta::ray {

/// Named status.rayClusterName. In SidecarMode with the submitter beside the head, which can fail
/// as submit_command does.
Result<Json> build_cluster_for_job(const RayJob& job, const BuildOptions& options);

/// `has_active_cluster`: during an incremental upgrade the new cluster starts at its minimum.
Json build_cluster_for_service(const RayService& service, std::string_view name,
                               bool has_active_cluster, const BuildOptions& options);

/// Named "<cron job>-<tick in minutes>", so that one tick makes one job however often it is tried.
Json build_job_for_cron_job(const RayCronJob& cron_job, Time tick);

}  // namespace manta::ray
