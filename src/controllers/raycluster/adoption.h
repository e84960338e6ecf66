// Pods that a RayCluster of the same name has left behind, by a deletion with --cascade=orphan:
// they run on without an owner, behind the head Service. They are this cluster's then, as a
// ReplicaSet's would be; a second head beside them would split the cluster.
#pragma once

#include "controllers/raycluster/seen.h"
#include "kube/plan.h"

namespace manta::controllers::raycluster {

/// Whether an operator made this Pod for an earlier RayCluster of this name, and nobody owns it
/// now. What a user made by hand is not such: it has other names, or is younger than the cluster,
/// or a head without what operators note on it. RC-44
bool is_left_behind(const kube::ObjectMeta& pod, const kube::ObjectMeta& cluster);

/// Makes the cluster the owner of those among its Pods that have none.
kube::Stage adoption_writes(const RayClusterSeen& seen);

}  // namespace manta::controllers::raycluster
