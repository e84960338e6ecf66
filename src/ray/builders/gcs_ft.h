// GCS fault tolerance: where a restarted head finds the state of the one before it. spec/03 §3.9
#pragma once

#include "base/json.h"
#include "ray/builders/start_params.h"
#include "ray/types.h"

#include <string>

namespace manta::ray {

/// Under which name a cluster keeps its state in Redis.
std::string gcs_storage_namespace(const RayCluster& cluster);

/// Annotations (`metadata` is the Pod's), env, start parameters and volume of the head.
void add_gcs_ft_to_head(JsonObject& metadata, JsonObject& pod_spec, StartParams& params,
                        const RayCluster& cluster);
/// Workers only wait longer for GCS to come back.
void add_gcs_ft_to_worker(JsonObject& pod_spec, const RayCluster& cluster);

}  // namespace manta::ray
