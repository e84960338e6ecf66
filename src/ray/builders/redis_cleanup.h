// The Job that removes a deleted cluster's GCS state from Redis. Source: spec/03 §6.4.
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

namespace manta::ray {

/// Made from the head Pod, whose volumes, env and account hold what it takes to reach Redis.
Json build_redis_cleanup_job(const RayCluster& cluster, const BuildOptions& options);

}  // namespace manta::ray
