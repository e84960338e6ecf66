// The marker of a state folder, and what an earlier life under it may have left on the host.
#pragma once

#include "base/random.h"
#include "base/result.h"
#include "local/node/node_options.h"

#include <set>
#include <string>
#include <vector>

namespace manta::local {

/// Eight hex digits, kept in the folder: made at the first call.
Result<std::string> state_marker(const std::string& state_folder, Random& random);
/// Remembers the cgroups made, for the next life's clean-up.
void record_cgroups(const std::string& state_folder, const std::vector<std::string>& roots);
/// What there is to remove, in words for people ("the Pods' network"); only looks.
std::vector<std::string> find_leftovers(const NodeOptions& options, const std::string& marker);
void remove_leftovers(const NodeOptions& options, const std::string& marker);
/// Replaces (or without entries removes) our block in the host's hosts file.
Result<void> write_host_names(const NodeOptions& options, const std::string& marker,
                              const std::vector<struct HostsEntry>& entries);

/// Folders and logs of Pods that are none of `uids`: they were deleted while no node was there to
/// see it.
std::vector<std::string> abandoned_pod_files(const std::string& state_folder,
                                             const std::set<std::string>& uids);

}  // namespace manta::local
