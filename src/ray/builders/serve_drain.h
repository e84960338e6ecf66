// A worker that is deleted while it serves (a node is drained, say) leaves in order: Ray is told to
// drain its node, Serve starts replicas elsewhere and lets this node's finish, and only then the
// container gets its SIGTERM. Kubernetes takes the Pod out of every Service the moment it is
// deleted. With gate RayServiceDrainWorkers. RS-24
#pragma once

#include "base/json.h"

namespace manta::ray {

/// A preStop hook and the time it needs, unless the user has given either.
void add_serve_drain(JsonObject& pod_spec);

}  // namespace manta::ray
