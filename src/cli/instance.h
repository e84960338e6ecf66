// Is a daemon running on this data directory, and what does it say of itself.
//
// The lock is the truth: a daemon holds it as long as it lives, so a stale state file after kill -9
// misleads nobody.
#pragma once

#include "base/result.h"
#include "cli/paths.h"

#include <cstdint>
#include <optional>
#include <string>

namespace manta::cli {

struct DaemonState {
  std::int64_t pid = 0;
  std::uint16_t port = 0;
  std::string server = {};  // https://127.0.0.1:PORT
  std::string started = {};
  std::string version = {};
  bool control_plane_only = false;
  bool outbound = true;
  bool with_operator = true;
  std::string feature_gates = {};  // the operator's
  bool for_runs = false;           // started by `manta run`, ends with the last run that uses it
};

Result<void> write_state(const Paths& paths, const DaemonState& state);
/// Nothing when there is no readable file.
std::optional<DaemonState> read_state(const Paths& paths);

/// Takes the daemon's lock for the life of this process. AlreadyExists: another one holds it.
Result<void> take_lock(const Paths& paths);
/// True while some daemon holds the lock (one that is still starting, too).
bool is_locked(const Paths& paths);
/// The running daemon; nothing when none runs, or it is not ready yet.
std::optional<DaemonState> running_daemon(const Paths& paths);

}  // namespace manta::cli
