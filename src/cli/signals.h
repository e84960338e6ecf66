// SIGINT, SIGTERM and SIGHUP: on the event loop, and held back where there is none.
#pragma once

#include "base/asio_loop.h"

#include <signal.h>

#include <functional>
#include <memory>

namespace manta::cli {

class StopSignals {
 public:
  /// `on_signal` hears of each one, as its number, until this dies.
  StopSignals(AsioLoop& loop, std::function<void(int)> on_signal);
  ~StopSignals();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Holds these signals back while it lives, for stretches that must not be cut in two: one that
/// comes meanwhile is seen by taken(), or does its work when this dies. Children inherit it, so
/// they call release() before exec.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Readable when one came; -1 when the kernel gives none.
  int fd() const { return fd_; }
  /// Takes one that came; 0 when none did.
  int take();
  /// Lets go before its time; safe after a fork.
  void release();

 private:
  sigset_t before_ = {};
  int fd_ = -1;
  bool held_ = true;
};

/// A reader that went away (`manta run … | head`) must not end us before we have tidied up: writes
/// fail instead. Programs started from here on have the usual SIGPIPE again.
void survive_closed_pipes();

}  // namespace manta::cli
