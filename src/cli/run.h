// `manta run FILE`: from a manifest to its job's end.
#pragma once

#include "cli/paths.h"

#include <chrono>
#include <optional>
#include <string>

namespace manta::cli {

struct RunOptions {
  std::string file = {};
  bool keep = false;                                 // leave objects and daemon as they are
  std::optional<std::chrono::seconds> timeout = {};  // for the job; nothing: no limit
};

/// 0: the job SUCCEEDED. 1: it did not, or something else went wrong. 124: the timeout passed. 130:
/// interrupted.
int run_file(const Paths& paths, const RunOptions& options);

}  // namespace manta::cli
