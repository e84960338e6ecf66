// GCS fault tolerance: where a restarted head finds the state of the one before it. spec/03 §3.9
#pragma once

#include "base/json.h"
#include "ray/builders/start_params.h"
#include "ray/types.h"

namespace manta::ray {

/// Annotations (`metadata` is the Pod's), env, start parameters and volume of the head.
void add_gcs_ft_to_head(JsonObject& metadata, JsonObject& pod_spec, StartParams& params,
                        const RayCluster& cluster);
/// Workers only wait longer for GCS to come back.
void add_gcs_ft_to_worker(JsonObject& pod_spec, const RayCluster& cluster);

}  // namespace manta::ray
