// A head whose Node is gone: nobody is left to end it, so it stays in its deletion for ever and no
// new head is made. RC-06
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

#include <string>
#include <string_view>

namespace manta::controllers::raycluster {

/// Which Outside answers whether a Node exists: {"name": …} to {"exists": bool}.
inline constexpr std::string_view kNodeTarget = "node";

/// The head that is being deleted; null: none is.
const kube::PodView* going_head(const RayClusterSeen& seen);

/// With the gate: asks about the Node of a head whose end is overdue, and ends the head by force
/// when the Node is gone. Adds to the plan.
void plan_lost_head(const RayClusterSeen& seen, const Settings& settings,
                    const kube::PlanContext& context, kube::Plan& plan);

/// Why it cannot be told whether that Node is there; empty: nobody has to know, or it can.
std::string why_node_is_unknown(const kube::PlanContext& context);

}  // namespace manta::controllers::raycluster
