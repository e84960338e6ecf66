#include "base/asio_loop.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <unordered_map>

namespace manta {

namespace asio = boost::asio;

struct AsioLoop::Impl {
  struct Timer {
    asio::steady_timer timer;
    Callback callback;
  };

  // One thread runs it; post() and stop() from other threads still need the locks.
  asio::io_context context{1};
  std::unordered_map<TimerId, std::unique_ptr<Timer>> timers = {};
  TimerId next_id = 1;

  void fire(TimerId id) {
    const auto found = timers.find(id);
    if (found == timers.end()) return;
    const auto timer = std::move(found->second);
    timers.erase(found);
    timer->callback();
  }
};

AsioLoop::AsioLoop() : impl_(std::make_unique<Impl>()) {
  // A peer that has gone is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
}
AsioLoop::~AsioLoop() = default;

Time AsioLoop::now() const {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

Steady AsioLoop::steady() const {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now());
}

void AsioLoop::post(Callback callback) {
  asio::post(impl_->context, [work = std::move(callback)]() mutable { work(); });
}

Loop::TimerId AsioLoop::after(Duration delay, Callback callback) {
  const TimerId id = impl_->next_id++;
  auto timer = std::make_unique<Impl::Timer>(
      Impl::Timer{asio::steady_timer(impl_->context), std::move(callback)});
  timer->timer.expires_after(std::max(delay, Duration{0}));
  timer->timer.async_wait([impl = impl_.get(), id](const boost::system::error_code& ec) {
    if (!ec) impl->fire(id);
  });
  impl_->timers.emplace(id, std::move(timer));
  return id;
}

void AsioLoop::cancel(TimerId timer) { impl_->timers.erase(timer); }

asio::io_context& AsioLoop::context() { return impl_->context; }

void AsioLoop::run() {
  if (impl_->context.stopped()) impl_->context.restart();
  impl_->context.run();
}

void AsioLoop::stop() { impl_->context.stop(); }

}  // namespace manta
