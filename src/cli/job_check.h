// What `manta run` asks of a RayJob beyond what the API server checks. Pure.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace manta::cli {

/// Fails when nothing says what the job is to run, which no operator tells before a cluster is up.
Result<void> check_entrypoint(const Json& ray_job);

}  // namespace manta::cli
