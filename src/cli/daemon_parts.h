// Pieces of the daemon's start, each with its own way to fail.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "kube/api.h"

#include <cstdint>
#include <optional>
#include <string>

namespace manta::cli {

/// The port to listen on: the one asked for, or else the first that is free of the last life's, the
/// usual one and any. Fails when the one asked for is taken.
Result<std::uint16_t> choose_port(std::optional<std::uint16_t> asked,
                                  std::optional<std::uint16_t> last);

/// Makes or updates ray.io's CustomResourceDefinitions.
Task<Result<void>> install_crds(kube::Api& api);

/// Keeps one old log when the file has grown past 8 MiB. Never fails: a log is not worth a refusal.
void rotate_log(const std::string& path);

}  // namespace manta::cli
