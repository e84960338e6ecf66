// Which resources the API server serves, by asking it.
#pragma once

#include "kube/api.h"

#include <vector>

namespace manta::local {

/// Every listable, watchable, deletable resource at its group's preferred version, by name. Fails
/// when the server does not answer; a group whose version cannot be read fails the whole, lest a
/// garbage collector take its objects for absent.
Task<Result<std::vector<kube::Resource>>> discover(kube::Api& api);

}  // namespace manta::local
