#include "operator/signals.h"

#include "base/log.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <cstdlib>

namespace manta::operator_ {
namespace {

constexpr std::chrono::seconds kGrace{30};

}  // namespace

struct Signals::Impl : std::enable_shared_from_this<Signals::Impl> {
  Impl(AsioLoop& l, std::stop_source s)
      : loop(l), set(l.context(), SIGINT, SIGTERM), stop(std::move(s)) {}

  void wait() {
    set.async_wait([self = shared_from_this()](const boost::system::error_code& error, int) {
      if (!error) self->heard();
    });
  }
  void heard() {
    if (stop.stop_requested()) std::_Exit(1);
    log::info("Stopping and waiting for what is in flight");
    loop.after(kGrace, [] {
      log::error("failed waiting for all runnables to end within grace period of 30s");
      std::_Exit(1);
    });
    stop.request_stop();
    wait();
  }

  AsioLoop& loop;
  boost::asio::signal_set set;
  std::stop_source stop;
};

Signals::Signals(AsioLoop& loop, std::stop_source stop)
    : impl_(std::make_shared<Impl>(loop, std::move(stop))) {
  impl_->wait();
}
Signals::~Signals() { impl_->set.cancel(); }

}  // namespace manta::operator_
