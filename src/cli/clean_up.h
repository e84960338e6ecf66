// Takes out of the cluster what a run has put in.
#pragma once

#include "base/loop.h"
#include "cli/apply.h"
#include "kube/api.h"

#include <string>
#include <vector>

namespace manta::cli {

/// The RayJob among them; null when there is none.
const AppliedObject* find_job(const std::vector<AppliedObject>& applied);

/// Deletes what was created, and waits until the job, its cluster and their Pods have gone. Best
/// effort: the first failure ends it, since a server that cannot write (its disk is full) will not
/// do so a moment later.
Task<Result<void>> take_out(Loop& loop, kube::Api& api, std::vector<AppliedObject> applied,
                            std::string cluster);

/// For whoever looks for it afterwards; empty when nothing was created.
std::string deleted_again(const std::vector<AppliedObject>& applied);

}  // namespace manta::cli
