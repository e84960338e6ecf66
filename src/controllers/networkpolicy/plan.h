// The NetworkPolicy controller: one pure function over RayClusters.
#pragma once

#include "controllers/settings.h"
#include "kube/plan.h"
#include "kube/views.h"
#include "ray/types.h"

#include <memory>
#include <vector>

namespace manta::controllers::networkpolicy {

struct NetworkPolicySeen {
  std::shared_ptr<const ray::RayCluster> cluster = {};
  /// Those with the cluster's label, and those of the names that it wants; whoever owns them.
  std::vector<std::shared_ptr<const kube::SpecView>> policies = {};
};

/// Makes the cluster's policies what its spec asks for, and deletes those that it asks for no more.
/// A namesake of somebody else's is left alone, with a warning. Each policy has a lane of its own.
/// Source: spec/02 §5.2.
kube::Plan plan(const NetworkPolicySeen& seen, const Settings& settings);

}  // namespace manta::controllers::networkpolicy
