// What a daemon that was killed has left on this machine: it had no time to tidy up.
#pragma once

#include "base/result.h"
#include "cli/paths.h"

#include <string>
#include <vector>

namespace manta::cli {

/// In words for people; empty when there is nothing, or while a daemon runs.
std::vector<std::string> find_leftovers(const Paths& paths);
/// Removes them, and says what they were; nothing while a daemon runs. Fails with what stays. Holds
/// the daemon's lock from then on, so that none starts meanwhile.
Result<std::vector<std::string>> remove_leftovers(const Paths& paths);
/// The files of every Pod, for when no Pod is stored any more.
void remove_pod_files(const Paths& paths);
/// "a, b and c".
std::string listed(const std::vector<std::string>& words);

}  // namespace manta::cli
