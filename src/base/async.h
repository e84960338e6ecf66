// Small tools for coroutines on one Loop: a value that arrives later, a queue, a scope that owns
// running tasks, and waiting for several.
#pragma once

#include "base/loop.h"
#include "base/result.h"
#include "base/task.h"

#include <coroutine>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

namespace manta {

/// A value set once and awaited once, in either order; bridges callbacks to coroutines. Copies
/// share the value. A second set() is ignored, so a reply and its deadline may race.
template <class T>
class OneShot {
 public:
  explicit OneShot(Loop& loop) : state_(std::make_shared<State>(loop)) {}

  /// True when this call was the first. The waiter resumes on the loop's next turn.
  bool set(T value) const {
    if (state_->value) return false;
    state_->value.emplace(std::move(value));
    if (auto waiter = std::exchange(state_->waiter, {}))
      state_->loop.post([waiter] { waiter.resume(); });
    return true;
  }
  bool is_set() const { return state_->value.has_value(); }

  auto operator co_await() const noexcept {
    struct Awaiter {
      std::shared_ptr<State> state;
      bool await_ready() const noexcept { return state->value.has_value(); }
      void await_suspend(std::coroutine_handle<> handle) noexcept { state->waiter = handle; }
      T await_resume() { return std::move(*state->value); }
    };
    return Awaiter{state_};
  }

 private:
  struct State {
    explicit State(Loop& l) : loop(l) {}
    Loop& loop;
    std::optional<T> value = {};
    std::coroutine_handle<> waiter = {};
  };
  std::shared_ptr<State> state_;
};

/// An unbounded queue with one reader. Copies share it.
template <class T>
class Channel {
 public:
  explicit Channel(Loop& loop) : state_(std::make_shared<State>(loop)) {}

  void push(T item) const {
    if (state_->closed) return;
    state_->items.push_back(std::move(item));
    wake();
  }
  /// Items already pushed are still read; then next() answers nothing.
  void close() const {
    state_->closed = true;
    wake();
  }
  std::size_t size() const { return state_->items.size(); }

  /// The next item; nothing once closed and empty.
  auto next() const noexcept {
    struct Awaiter {
      std::shared_ptr<State> state;
      bool await_ready() const noexcept { return !state->items.empty() || state->closed; }
      void await_suspend(std::coroutine_handle<> handle) noexcept { state->waiter = handle; }
      std::optional<T> await_resume() {
        if (state->items.empty()) return std::nullopt;
        std::optional<T> item(std::move(state->items.front()));
        state->items.pop_front();
        return item;
      }
    };
    return Awaiter{state_};
  }

 private:
  struct State {
    explicit State(Loop& l) : loop(l) {}
    Loop& loop;
    std::deque<T> items = {};
    bool closed = false;
    std::coroutine_handle<> waiter = {};
  };
  void wake() const {
    if (auto waiter = std::exchange(state_->waiter, {}))
      state_->loop.post([waiter] { waiter.resume(); });
  }
  std::shared_ptr<State> state_;
};

/// Owns running tasks. Whoever makes a Scope joins it before it dies:
///
///   Scope scope(loop);
///   scope.spawn("reflect Pods", reflector.run(scope.stop_token()));
///   …
///   scope.request_stop();
///   co_await scope.join();
class Scope {
 public:
  explicit Scope(Loop& loop) : loop_(loop) {}
  /// CHECKs that nothing is left running.
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// Starts the task now; it runs until its first wait before this returns.
  void spawn(std::string_view name, Task<void> task);
  std::stop_token stop_token() const { return stop_.get_token(); }
  void request_stop() { stop_.request_stop(); }
  std::size_t running() const { return running_; }
  /// Waits until every task has ended, those spawned meanwhile too.
  Task<void> join();

 private:
  task_detail::Detached run(Task<void> task);

  Loop& loop_;
  std::stop_source stop_;
  std::size_t running_ = 0;
  std::vector<OneShot<bool>> joiners_ = {};
};

/// Runs all side by side; results in the same order.
template <class T>
Task<std::vector<T>> when_all(Loop& loop, std::vector<Task<T>> tasks) {
  struct State {
    std::vector<std::optional<T>> results;
    std::size_t left;
  };
  State state{std::vector<std::optional<T>>(tasks.size()), tasks.size()};
  OneShot<bool> done(loop);
  auto run_one = [](Task<T> task, State& shared, std::size_t index,
                    OneShot<bool> finished) -> task_detail::Detached {
    shared.results[index].emplace(co_await std::move(task));
    if (--shared.left == 0) finished.set(true);
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) run_one(std::move(tasks[i]), state, i, done);
  if (!tasks.empty()) co_await done;
  std::vector<T> results;
  results.reserve(state.results.size());
  for (auto& result : state.results) results.push_back(std::move(*result));
  co_return results;
}

/// The task's result, or Timeout when the deadline passes first. `task` must notice `stop` (it is
/// requested at the deadline) and end soon; this waits for its end.
template <class T>
Task<Result<T>> with_deadline(Loop& loop, Duration limit, std::stop_source stop,
                              Task<Result<T>> task) {
  bool late = false;
  const auto timer = loop.after(limit, [&late, stop]() mutable {
    late = true;
    stop.request_stop();
  });
  auto result = co_await std::move(task);
  loop.cancel(timer);
  if (late && !result) co_return failed(ErrorCode::Timeout, "no answer within the deadline");
  co_return result;
}

}  // namespace manta
