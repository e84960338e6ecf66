// Endpoints and EndpointSlices of a Service, from the Pods that its selector picks. Pure.
//
// As Kubernetes': Pods with an address that have not ended; ready ones apart from the rest unless
// the Service publishes them all; named target ports looked up in each Pod. IPv4 only.
#pragma once

#include "kube/plan.h"
#include "local/controllers/views.h"

#include <memory>
#include <vector>

namespace manta::local {

struct EndpointsSeen {
  std::shared_ptr<const ServiceView> service = {};        // null: it is gone
  std::vector<std::shared_ptr<const PodView>> pods = {};  // picked by its selector, by name
  std::shared_ptr<const EndpointsView> endpoints = {};    // null: none yet
  std::vector<std::shared_ptr<const EndpointsView>> slices = {};
};

/// Empty for a Service without selector: its endpoints are the user's own.
kube::Plan plan_endpoints(const EndpointsSeen& seen, const kube::PlanContext& context);

}  // namespace manta::local
