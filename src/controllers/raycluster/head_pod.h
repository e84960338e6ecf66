// What to do about a cluster's head Pod.
#pragma once

#include "controllers/raycluster/seen.h"

#include <string>

namespace manta::controllers::raycluster {

/// What the caches show of one cluster's head.
struct HeadSeen {
  Pods heads = {};                // every head Pod, those being deleted too
  bool provisioned = false;       // condition RayClusterProvisioned is True
  bool restart_disabled = false;  // annotation ray.io/disable-provisioned-head-restart
};
HeadSeen see_head(const RayClusterSeen& seen);

/// Create: and the workers once it was accepted. Keep: plan the workers. Delete: only that.
/// Hold: neither head nor workers until the cause in `why` has gone.
enum class HeadStep { Create, Delete, Keep, Hold };

struct HeadDecision {
  HeadStep step = HeadStep::Hold;
  std::string why = {};
};

/// Answers every input. Source: spec/02 §3, §3.1.
HeadDecision decide_head(const HeadSeen& seen);

}  // namespace manta::controllers::raycluster
