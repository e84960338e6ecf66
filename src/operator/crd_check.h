// Whether the stored CustomResourceDefinitions know every field that this operator reads or writes.
// With an older one the API server prunes what it does not know, silently: better not to start than
// to act on half of what the user wrote. HM-01
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "kube/api.h"

#include <string>
#include <vector>

namespace manta::operator_ {

/// An object of this kind with every field of ours in spec and status, Kubernetes' own content left
/// empty. For a dry run alone: its values mean nothing.
Json schema_probe(const kube::Resource& resource);

/// The fields that a strict dry run of the probe was refused for.
std::vector<std::string> unknown_fields(std::string_view message);

/// Asks by dry runs in `namespace_`, which need no more rights than the operator has anyway. Waits
/// up to two minutes for a definition that is not there yet. Fails naming the definition, the
/// fields and the command that helps.
Task<Result<void>> check_crds(Loop& loop, kube::Api& api, std::string namespace_,
                              std::vector<kube::Resource> resources, std::stop_token stop);

}  // namespace manta::operator_
