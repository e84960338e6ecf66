// The shell text by which a submitter hands a RayJob to Ray. Source: spec/03 §6.2.
#pragma once

#include "base/result.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <string>
#include <string_view>

namespace manta::ray {

/// K8sJobMode and SidecarMode; from status.dashboardURL and status.jobId. Fails on other modes, on
/// a runtimeEnvYAML that is none, and on metadata for a Ray that does not know it.
Result<std::string> submit_command(const RayJob& job, const BuildOptions& options);

/// One argument for bash. In double quotes as KubeRay writes it, where those keep the text as it
/// is; in single quotes otherwise, so that $, backticks and control characters reach Ray, too.
std::string quote_argument(std::string_view text);

/// Lenient semantic version, with 2.6.0 ≤ version and no pre-release; fails when it is none.
Result<bool> supports_job_metadata(std::string_view ray_version);

}  // namespace manta::ray
