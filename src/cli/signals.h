// SIGINT and SIGTERM on the event loop.
#pragma once

#include "base/asio_loop.h"

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

}  // namespace manta::cli
