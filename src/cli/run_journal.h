// What each `manta run` has put into the cluster, on disk, so that the daemon can take it out when
// the run is killed.
#pragma once

#include "base/result.h"
#include "cli/apply.h"
#include "cli/paths.h"

#include <vector>

namespace manta::cli {

/// This process's, over an earlier one.
Result<void> write_journal(const Paths& paths, const std::vector<AppliedObject>& applied);
void erase_journal(const Paths& paths);

/// Everybody's. Of each object there is what names it and its kind, not its content.
std::vector<std::vector<AppliedObject>> read_journals(const Paths& paths);
void erase_journals(const Paths& paths);

}  // namespace manta::cli
