// What the API server of every world has from the start: Ray's CRDs. Made once a process, since
// making them takes longer than many a run.
#pragma once

#include "local/apiserver/store.h"

namespace manta::sim {

/// Puts into an empty store what an API server put there when it was asked to make the CRDs.
local::Store& furnish(local::Store& store);

}  // namespace manta::sim
