// A loop whose time moves only when nothing is left to do: hours of waiting run in microseconds and
// always in the same order.
#pragma once

#include "base/loop.h"

#include <deque>
#include <map>
#include <utility>

namespace manta {

class VirtualLoop final : public Loop {
 public:
  explicit VirtualLoop(Time start = Time{std::chrono::seconds{1'700'000'000}})
      : wall_at_zero_(start) {}

  Time now() const override { return wall_at_zero_ + steady_.time_since_epoch(); }
  Steady steady() const override { return steady_; }
  /// Somebody sets the wall clock. Timers take no notice.
  void set_clock(Time to) { wall_at_zero_ += to - now(); }
  void post(Callback callback) override;
  TimerId after(Duration delay, Callback callback) override;
  void cancel(TimerId timer) override;

  /// Runs what is due now, without moving time. Returns how many callbacks ran.
  std::size_t run_ready();
  /// Runs everything up to and at now() + span; time ends exactly there.
  void run_for(Duration span);
  /// Runs until `condition` holds, moving time from timer to timer. False: nothing was left to run,
  /// or `limit` of virtual time passed.
  bool run_until(const std::function<bool()>& condition, Duration limit);
  /// The next timer's instant, if any is set.
  std::optional<Steady> next_timer() const;
  /// Starts a task and runs until it ends; its result. CHECKs that it ends within `limit`.
  template <class T>
  T run(Task<T> task, Duration limit = std::chrono::hours{24});

 private:
  Time wall_at_zero_;
  Steady steady_ = {};
  std::deque<Callback> ready_ = {};
  std::map<std::pair<Steady, TimerId>, Callback> timers_ = {};
  std::map<TimerId, Steady> due_ = {};
  TimerId next_id_ = 1;
};

template <class T>
T VirtualLoop::run(Task<T> task, Duration limit) {
  std::optional<T> result;
  [](Task<T> work, std::optional<T>& out) -> task_detail::Detached {
    out.emplace(co_await std::move(work));
  }(std::move(task), result);
  MANTA_CHECK(run_until([&] { return result.has_value(); }, limit));
  return std::move(*result);
}

}  // namespace manta
