// The process once it has an Api: listeners, leader election, the operator, until a signal.
#pragma once

#include "base/asio_loop.h"
#include "operator/metrics/rest_metrics.h"
#include "operator/startup.h"

namespace manta::operator_ {

/// Everything that was told; the Api is made of it.
struct Assignment {
  Options options = {};
  controllers::Settings settings = {};
  Environment environment = {};
  std::string election_namespace = {};
};

Task<Started<>> serve(AsioLoop& loop, kube::Api& api, const RestMetrics& requests,
                      Assignment assignment);

}  // namespace manta::operator_
