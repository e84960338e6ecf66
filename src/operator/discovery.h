// What the API server is found to serve at start. Source: spec/07 §16.
#pragma once

#include "base/task.h"
#include "kube/api.h"

#include <string>

namespace manta::operator_ {

struct Served {
  bool openshift = false;     // one of OpenShift's API groups
  bool cert_manager = false;  // cert-manager.io/v1
};
/// Fails when the API groups cannot be listed.
Task<Result<Served>> discover(kube::Api& api);

/// Fails unless Kubernetes' workload-aware scheduling is served: an alpha API that clusters have
/// to turn on, of which we know one version.
Task<Result<void>> find_workload_scheduling(kube::Api& api);

/// gitVersion, as in "v1.35.2+k3s1".
Task<Result<std::string>> server_version(kube::Api& api);
/// Whether a gitVersion is at least major.minor; what follows the numbers does not count. Fails
/// when there are none.
Result<bool> version_at_least(std::string_view git_version, int major, int minor);

}  // namespace manta::operator_
