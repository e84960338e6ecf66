// Starting and stopping the daemon from another process.
#pragma once

#include "base/result.h"
#include "cli/instance.h"
#include "cli/paths.h"
#include "cli/signals.h"

#include <cstdint>
#include <optional>
#include <string>

namespace manta::cli {

struct DaemonOptions {
  std::optional<std::uint16_t> port = {};  // nothing: the usual one, or a free one if that is taken
  bool control_plane_only = false;
  bool with_operator = true;
  bool outbound = true;            // Pods reach the internet
  bool for_runs = false;           // see DaemonState
  std::string feature_gates = {};  // the operator's, as its own flag takes them
};

struct Launch {
  DaemonState state = {};
  bool ours = false;  // started by this call; else somebody else's was there, or came first
};

/// The daemon that runs here, or else this program started again as one, in a session of its own;
/// returns when it is ready. Fails with what the daemon said when it could not start, and where its
/// log is. Cancelled: a signal came; the daemon that was starting is gone again.
Result<Launch> launch_daemon(const Paths& paths, const DaemonOptions& options, HeldSignals& held);

enum class StopOutcome { WasNotRunning, Stopped, Killed };
/// SIGTERM, and SIGKILL when it has not gone after `patience_seconds`.
Result<StopOutcome> stop_daemon(const Paths& paths, int patience_seconds = 40);
/// The SIGTERM alone, for who cannot wait.
void tell_daemon_to_stop(const Paths& paths);

/// The daemon's side of the wait: one line, once.
void report_ready(int fd);
void report_failure(int fd, const std::string& message);

}  // namespace manta::cli
