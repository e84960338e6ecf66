// SIGINT and SIGTERM: the first ends the process's work, the second the process.
#pragma once

#include "base/asio_loop.h"

#include <memory>
#include <stop_token>

namespace manta::operator_ {

class Signals {
 public:
  /// What has not ended 30 s after the first signal is left: exit code 1. Source: spec/07 §18.
  Signals(AsioLoop& loop, std::stop_source stop);
  ~Signals();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace manta::operator_
