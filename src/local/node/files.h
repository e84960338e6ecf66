// Small files read whole. (An istreambuf_iterator throws when a read fails, as it does on /proc
// entries of processes that just ended.)
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace manta::local {

/// Nothing when it cannot be read.
std::optional<std::string> read_file(const std::string& path);
/// Names in a folder, without order; empty when it cannot be read.
std::vector<std::string> list_folder(const std::string& path);

}  // namespace manta::local
