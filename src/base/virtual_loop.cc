#include "base/virtual_loop.h"

#include <algorithm>

namespace manta {

void VirtualLoop::post(Callback callback) { ready_.push_back(std::move(callback)); }

Loop::TimerId VirtualLoop::after(Duration delay, Callback callback) {
  const TimerId id = next_id_++;
  const Steady due = steady_ + std::max(delay, Duration{0});
  timers_.emplace(std::pair(due, id), std::move(callback));
  due_.emplace(id, due);
  return id;
}

void VirtualLoop::cancel(TimerId timer) {
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  timers_.erase({found->second, timer});
  due_.erase(found);
}

std::size_t VirtualLoop::run_ready() {
  std::size_t count = 0;
  for (;; ++count) {
    Callback callback;
    if (!ready_.empty()) {
      callback = std::move(ready_.front());
      ready_.pop_front();
    } else if (!timers_.empty() && timers_.begin()->first.first <= steady_) {
      callback = std::move(timers_.begin()->second);
      due_.erase(timers_.begin()->first.second);
      timers_.erase(timers_.begin());
    } else {
      return count;
    }
    callback();
  }
}

void VirtualLoop::run_for(Duration span) {
  const Steady end = steady_ + span;
  for (run_ready(); next_timer() && *next_timer() <= end; run_ready()) steady_ = *next_timer();
  steady_ = end;
}

bool VirtualLoop::run_until(const std::function<bool()>& condition, Duration limit) {
  const Steady end = steady_ + limit;
  while (!condition()) {
    if (!ready_.empty() || (next_timer() && *next_timer() <= steady_)) {
      // One callback at a time, so that the world stands still where the condition came true.
      Callback callback;
      if (!ready_.empty()) {
        callback = std::move(ready_.front());
        ready_.pop_front();
      } else {
        callback = std::move(timers_.begin()->second);
        due_.erase(timers_.begin()->first.second);
        timers_.erase(timers_.begin());
      }
      callback();
      continue;
    }
    const auto next = next_timer();
    if (!next || *next > end) return false;
    steady_ = *next;
  }
  return true;
}

std::optional<Steady> VirtualLoop::next_timer() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

}  // namespace manta
