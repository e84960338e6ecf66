// The event loop as everything above it sees it: the clock, timers, and a queue of callbacks.
//
// Two kinds: AsioLoop (base/asio_loop.h) for the product, VirtualLoop (base/virtual_loop.h) for
// tests and the simulator, where time moves only when nothing is left to do. One thread runs a loop
// and everything that it calls.
#pragma once

#include "base/task.h"
#include "base/time.h"

#include <cstdint>
#include <functional>
#include <stop_token>

namespace manta {

class Loop {
 public:
  using Callback = std::move_only_function<void()>;
  using TimerId = std::uint64_t;  // 0 is no timer

  virtual ~Loop() = default;

  /// The wall clock: for what is written down.
  virtual Time now() const = 0;
  /// The clock that timers run on: for what is waited for, and how long something took.
  virtual Steady steady() const = 0;
  /// Runs the callback later on the loop's thread, in order. AsioLoop: callable from any thread.
  virtual void post(Callback callback) = 0;
  /// Runs the callback once, after the delay (≤ 0: at the next turn).
  virtual TimerId after(Duration delay, Callback callback) = 0;
  /// No effect on one that ran or never was.
  virtual void cancel(TimerId timer) = 0;
};

/// Waits. False: `stop` was requested first (or before).
Task<bool> sleep(Loop& loop, Duration delay, std::stop_token stop = {});

}  // namespace manta
