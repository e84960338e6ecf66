// The product's loop, on Boost.Asio. Files that do I/O include this one and use context().
#pragma once

#include "base/loop.h"

#include <memory>

namespace boost::asio {
class io_context;
}

namespace manta {

class AsioLoop final : public Loop {
 public:
  AsioLoop();
  ~AsioLoop() override;

  Time now() const override;
  Steady steady() const override;
  void post(Callback callback) override;
  TimerId after(Duration delay, Callback callback) override;
  void cancel(TimerId timer) override;

  boost::asio::io_context& context();
  /// Runs until stop() or nothing is left to wait for.
  void run();
  /// Callable from any thread and from signal handlers set by Asio.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Starts the task, runs the loop until it ends; its result. For main() functions and tests.
template <class T>
T run_to_end(AsioLoop& loop, Task<T> task) {
  std::optional<T> result;
  [](AsioLoop& l, Task<T> work, std::optional<T>& out) -> task_detail::Detached {
    out.emplace(co_await std::move(work));
    l.stop();
  }(loop, std::move(task), result);
  if (!result) loop.run();
  MANTA_CHECK(result.has_value());
  return std::move(*result);
}

}  // namespace manta
