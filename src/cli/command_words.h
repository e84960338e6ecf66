// What people type on the command line: a command's name, a timeout.
#pragma once

#include "base/result.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace manta::cli {

/// "600" (seconds), "90s", "10m", "1h30m": in whole seconds, rounded up. Fails with what is
/// allowed.
Result<std::chrono::seconds> parse_timeout(std::string_view text);

/// The complaint about a command that is not there, with the nearest one or else all there are.
std::string unknown_command(std::string_view parent, std::string_view word,
                            const std::vector<std::string>& allowed);

}  // namespace manta::cli
