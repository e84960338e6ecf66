// The Ray autoscaler beside the head. spec/03 §3.8
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <string>

namespace manta::ray {

JsonObject build_autoscaler_container(const RayCluster& cluster, const BuildOptions& options);
/// The account the head Pod runs as so that its autoscaler may change the cluster.
std::string autoscaler_service_account(const RayCluster& cluster);

bool autoscaler_v2(const RayClusterSpec& spec);
bool autoscaler_v1(const RayClusterSpec& spec);  // only where the user says so

}  // namespace manta::ray
