// HTTP to a Service by its cluster name, from outside every Pod: the operator in the daemon has no
// cluster DNS, but it has the API server.
#pragma once

#include "base/asio_loop.h"
#include "kube/api.h"

#include <functional>
#include <string>

namespace manta::cli {

struct ServiceAddress {
  std::string namespace_ = {};
  std::string service = {};
  std::string port = {};
};
/// "svc.ns.svc.cluster.local:8265". Nothing for anything else ("10.0.0.7:8000").
std::optional<ServiceAddress> parse_service_address(std::string_view host);

/// "10.244.0.7:8265": where the Service's port leads now; a Pod that is not ready is better than
/// none. Fails when no Pod has an address. Pure.
Result<std::string> pick_endpoint(const Json& service, const Json& endpoints,
                                  const ServiceAddress& address);

/// What operator_::RayDashboard wants.
std::function<Task<Result<kube::RawResponse>>(std::string, kube::RawRequest)> make_service_fetch(
    AsioLoop& loop, kube::Api& api);

}  // namespace manta::cli
