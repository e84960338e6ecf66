// Hears of the kernel's kills for memory in one container's control group.
#pragma once

#include "base/asio_loop.h"
#include "local/node/cgroups.h"

#include <functional>
#include <memory>

namespace manta::local {

/// Version 1 kills one process and lets the others go on; Kubernetes (on version 2, where the
/// kernel does it by itself: memory.oom.group) has the container die whole, with reason OOMKilled.
/// So on the first kill we end the rest.
class OomWatch {
 public:
  /// Null where nothing is to be done: version 2, no memory controller, a kernel that does not
  /// tell. Watches until destroyed.
  static std::unique_ptr<OomWatch> start(AsioLoop& loop, const Cgroup& cgroup);
  ~OomWatch();

 private:
  struct Io;
  explicit OomWatch(std::shared_ptr<Io> io) : io_(std::move(io)) {}
  std::shared_ptr<Io> io_;
};

}  // namespace manta::local
