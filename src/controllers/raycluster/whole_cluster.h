// When all Pods go at once: suspension, and upgrades by recreation. Source: spec/02 §7, §8.2.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

namespace manta::controllers::raycluster {

/// None: plan the Pods as usual. Wait: plan no Pods (a suspension is to be noted first, or holds).
/// Delete: delete all Pods.
enum class SuspendStep { None, Wait, Delete };
SuspendStep decide_suspension(const RayClusterSeen& seen, const Settings& settings);
kube::Stage suspension_writes(const RayClusterSeen& seen);

/// None: keep the Pods. Stamp: the head was made by another version, whose hash means nothing or is
/// not there; note ours. Recreate: the spec has changed since the head was made.
enum class UpgradeStep { None, Stamp, Recreate };
UpgradeStep decide_upgrade(const RayClusterSeen& seen, const Settings& settings);
kube::Stage upgrade_writes(const RayClusterSeen& seen, UpgradeStep step, const Settings& settings);

}  // namespace manta::controllers::raycluster
