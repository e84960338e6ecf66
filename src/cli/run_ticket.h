// Several `manta run` at once on one data directory: the last one out stops the daemon that was
// started for them.
#pragma once

#include "base/result.h"
#include "cli/paths.h"
#include "cli/signals.h"

#include <optional>

namespace manta::cli {

/// Held by each run as long as it uses the daemon; the kernel takes it back from one that is
/// killed.
class RunTicket {
 public:
  /// Waits while another run is stopping the daemon. Cancelled: a signal came.
  static Result<RunTicket> take(const Paths& paths, HeldSignals& held);

  /// For the daemon: nothing while some run holds one, else what keeps new ones waiting.
  static std::optional<RunTicket> take_if_no_run(const Paths& paths);

  ~RunTicket();
  RunTicket(RunTicket&& other) noexcept;
  RunTicket& operator=(RunTicket&&) = delete;

  /// Gives the ticket back. True when nobody else holds one; nobody gets one, then, until this
  /// dies.
  bool is_last();

 private:
  explicit RunTicket(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace manta::cli
