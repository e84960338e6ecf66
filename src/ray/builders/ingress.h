// The way into a cluster's dashboard from outside: Ingress, or an OpenShift Route.
// Source: spec/03 §5.6, §5.7.
#pragma once

#include "base/json.h"
#include "ray/types.h"

namespace manta::ray {

Json build_head_ingress(const RayCluster& cluster);
Json build_head_route(const RayCluster& cluster);

}  // namespace manta::ray
