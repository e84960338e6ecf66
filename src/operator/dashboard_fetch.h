// RayDashboard's way to Ray over plain HTTP.
#pragma once

#include "kube/http_client.h"
#include "operator/ray_dashboard.h"

#include <functional>

namespace manta::operator_ {

/// Requests that are no GET are refused (Unavailable) while `may_write` says no. The client must
/// outlive the result. What Ray answers is bounded, never unpacked, and a redirect is just an
/// answer. SEC-07
HttpFetch fetch_over(kube::HttpClient& client, std::function<bool()> may_write);

}  // namespace manta::operator_
