// Pieces of the daemon's start, each with its own way to fail.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "cli/paths.h"
#include "kube/api.h"

#include <cstdint>
#include <optional>
#include <string>

namespace manta::cli {

/// The port to listen on: the one asked for, or else the first that is free of the last life's, the
/// usual one and any. Fails when the one asked for is taken.
Result<std::uint16_t> choose_port(std::optional<std::uint16_t> asked,
                                  std::optional<std::uint16_t> last);

/// The network of the Services' addresses. Chosen at the first start, and kept, because stored
/// Services have addresses of it: 10.96.0.0/16, or the next one that nothing on this machine uses
/// (another manta, most likely).
Result<std::string> choose_service_network(const Paths& paths, bool with_node);
/// The `kubernetes` Service's address: the network's first.
std::string first_service_ip(const std::string& network);

/// Makes or updates ray.io's CustomResourceDefinitions.
Task<Result<void>> install_crds(kube::Api& api);

/// Keeps one old log when the file has grown past 8 MiB. Never fails: a log is not worth a refusal.
void rotate_log(const std::string& path);

}  // namespace manta::cli
