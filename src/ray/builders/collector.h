// The history collector beside Ray, and the env that makes Ray send it events. spec/03 §3.10
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/builders/start_params.h"
#include "ray/types.h"

namespace manta::ray {

JsonObject build_collector_container(const RayCluster& cluster, const CollectorOptions& collector,
                                     RayNode node, const BuildOptions& options);
/// For the Ray container of a Pod that has a collector.
void add_collector_events(JsonObject& ray_container);

}  // namespace manta::ray
