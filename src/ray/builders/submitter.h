// Who submits a RayJob: a Kubernetes Job of its own, or a container beside the head.
// Source: spec/03 §6.1, §6.3.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <string_view>

namespace manta::ray {

/// The user's Pod template, or the default one with that image. No command yet.
Json submitter_template(const RayJob& job, std::string_view image);

/// `cluster`: the one the job runs on. Fails as submit_command does.
Result<Json> build_submitter_job(const RayJob& job, const RayCluster& cluster,
                                 const BuildOptions& options);
/// SidecarMode, for a cluster that is not made yet.
Result<JsonObject> build_sidecar_submitter(const RayJob& job, const RayCluster& cluster,
                                           const BuildOptions& options);

}  // namespace manta::ray
