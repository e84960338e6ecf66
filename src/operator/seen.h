// What planners see of the caches: a snapshot of one object and what belongs to it.
//
//   auto seen = see_ray_cluster(world, key);      // nothing: no such RayCluster
#pragma once

#include "controllers/mtls/plan.h"
#include "controllers/networkpolicy/plan.h"
#include "controllers/raycluster/seen.h"
#include "controllers/raycronjob/plan.h"
#include "controllers/rayjob/seen.h"
#include "controllers/rayservice/seen.h"
#include "operator/world.h"

#include <optional>

namespace manta::operator_ {

std::optional<controllers::raycluster::RayClusterSeen> see_ray_cluster(const World& world,
                                                                       const kube::ObjectKey& key);
std::optional<controllers::rayjob::RayJobSeen> see_ray_job(const World& world,
                                                           const kube::ObjectKey& key);

std::optional<controllers::raycronjob::RayCronJobSeen> see_ray_cron_job(const World& world,
                                                                        const kube::ObjectKey& key);

std::optional<controllers::networkpolicy::NetworkPolicySeen> see_network_policies(
    const World& world, const kube::ObjectKey& cluster);

std::optional<controllers::mtls::MtlsSeen> see_mtls(const World& world,
                                                    const kube::ObjectKey& cluster);

std::optional<controllers::rayservice::RayServiceSeen> see_ray_service(const World& world,
                                                                       const kube::ObjectKey& key);

/// Whether the API server has said of every Secret that these read whether it is there.
bool knows_secrets(const World& world, const controllers::rayjob::RayJobSeen& seen);
bool knows_secrets(const World& world, const controllers::rayservice::RayServiceSeen& seen);
/// What is to be done about a RayCluster while they are not known: to wait, and to say so.
kube::Plan wait_for_secrets(const World& world, const kube::ObjectKey& cluster, Time now);

}  // namespace manta::operator_
