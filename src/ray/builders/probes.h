// Liveness and readiness of the Ray container, where the user gave none. spec/03 §3.14
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/builders/start_params.h"
#include "ray/types.h"

namespace manta::ray {

void add_probes(JsonObject& ray_container, RayNode node, const StartParams& params,
                const RayCluster& cluster, const BuildOptions& options = {});

/// The first numbers of a version as users write it: "2.53.0rc1", "v2.53" are ≥ 2.53.0. False for
/// what has no two numbers at its start ("nightly", "2", "").
bool version_at_least(std::string_view version, unsigned major, unsigned minor);

}  // namespace manta::ray
