// The init container that holds a worker back until GCS answers. spec/03 §4.2
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <string>

namespace manta::ray {

/// Image, security context, env and mounts are those the Ray container has now: call this before
/// anything is added to it.
JsonObject build_wait_gcs_container(const JsonObject& ray_container, const RayCluster& cluster,
                                    const BuildOptions& options);

/// The bash script it runs.
std::string wait_gcs_script(std::string_view host, std::string_view port);

}  // namespace manta::ray
