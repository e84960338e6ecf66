// The daemon: API server, node, local controllers and operator on one loop.
#pragma once

#include "cli/launch.h"
#include "cli/paths.h"

#include <cstdint>

namespace manta::cli {

inline constexpr std::uint16_t kUsualPort = 16443;

/// Runs until SIGTERM or SIGINT; the exit code. Whoever started us hears on `ready_fd` (-1: nobody)
/// that we are ready, or why not.
int run_daemon(const Paths& paths, const DaemonOptions& options, int ready_fd);

}  // namespace manta::cli
