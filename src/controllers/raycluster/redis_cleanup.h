// GCS fault tolerance on Redis: a finalizer holds the deleted cluster until a Job has removed its
// state. Source: spec/02 §5.1.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

namespace manta::controllers::raycluster {

/// True when this cluster's deletion has to clean Redis.
bool wants_redis_cleanup(const RayClusterSeen& seen, const Settings& settings);
bool has_cleanup_finalizer(const RayClusterSeen& seen);

/// Of a live cluster: our finalizer, before anything else is made.
kube::Write add_cleanup_finalizer(const RayClusterSeen& seen);

/// Of a deleted cluster with our finalizer: Pods, then the Job, then the finalizer.
kube::Plan plan_redis_cleanup(const RayClusterSeen& seen, const Settings& settings,
                              const kube::PlanContext& context);

}  // namespace manta::controllers::raycluster
