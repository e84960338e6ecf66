// Objects beside the Pods that follow later edits of the spec, with their gate. RC-23, SEEN-07
//
// The head Service: annotations and ports, in three ways. What we applied last stands in an
// annotation of the Service (ray.io/service-applied); what is there besides is somebody else's and
// stays. A Service from before the gate has no such record: then nothing of it is taken away.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

#include <optional>
#include <string>

namespace manta::controllers::raycluster {

/// Adds the record of what is applied to a Service that is to be made.
void record_applied(Json& service);

/// The patch that takes `live` to what the spec says now; null: it is there.
Json service_patch(const kube::SpecView& live, const Json& wanted);

/// The head Service's write, when there is something to change.
std::optional<kube::Write> update_head_service(const RayClusterSeen& seen,
                                               const Settings& settings);
/// With the gate of stable selectors: the write that gives a Service from before it that selector,
/// which the head that runs matches as well. RC-22
std::optional<kube::Write> update_head_selector(const RayClusterSeen& seen,
                                                const Settings& settings);
/// Which fields of the head Service no longer are what the spec says and cannot be changed in
/// place; empty: none.
std::string head_service_drift(const RayClusterSeen& seen, const Settings& settings);

/// The cluster's own Ingress and Routes, when none are wanted any more.
kube::Stage remove_ways_in(const RayClusterSeen& seen);

}  // namespace manta::controllers::raycluster
