// Steps of the start that can fail, each with the log line that people look for. Source: spec/07
// §2.
#pragma once

#include "base/task.h"
#include "kube/api.h"
#include "kube/kubeconfig.h"
#include "operator/options.h"

#include <expected>
#include <string>

namespace manta::operator_ {

/// A log line and its error.
struct StartFailure {
  std::string what = {};
  Error error = {};
};
template <class T = void>
using Started = std::expected<T, StartFailure>;
std::unexpected<StartFailure> not_started(std::string what, Error error);

/// Settings from what was told alone; logs what was chosen.
Started<controllers::Settings> settle_options(const Options& options,
                                              const Environment& environment);

/// What is decided by asking the API server.
Task<Started<>> complete_settings(kube::Api& api, controllers::Settings& settings,
                                  const Environment& environment);

/// The flag's, else the Pod's own.
Started<std::string> election_namespace(const Options& options, const kube::ConfigSource& source);

}  // namespace manta::operator_
