#include "cli/signals.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <signal.h>

#include <utility>

namespace manta::cli {

struct StopSignals::Impl : std::enable_shared_from_this<Impl> {
  Impl(boost::asio::io_context& context, std::function<void(int)> handler)
      : signals(context, SIGINT, SIGTERM), on_signal(std::move(handler)) {}

  boost::asio::signal_set signals;
  std::function<void(int)> on_signal;

  void wait() {
    signals.async_wait(
        [self = shared_from_this()](const boost::system::error_code& error, int number) {
          if (error || !self->on_signal) return;
          self->on_signal(number);
          self->wait();
        });
  }
};

StopSignals::StopSignals(AsioLoop& loop, std::function<void(int)> on_signal)
    : impl_(std::make_shared<Impl>(loop.context(), std::move(on_signal))) {
  impl_->wait();
}

StopSignals::~StopSignals() {
  impl_->on_signal = nullptr;
  impl_->signals.cancel();
}

}  // namespace manta::cli
