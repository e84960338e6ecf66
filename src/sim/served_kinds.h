// The custom kinds that every world's API server has from the start: Ray's, and those of the
// Gateway API if asked for. Compiled once a process, since that takes longer than many a run.
#pragma once

#include "kube/object.h"
#include "local/apiserver/shared_types.h"

#include <memory>

namespace manta::sim {

std::shared_ptr<const local::SharedTypes> served_kinds(bool gateway_api);

/// The definition of another project's kind: whatever is in it.
Json foreign_crd(const kube::Resource& resource);

}  // namespace manta::sim
