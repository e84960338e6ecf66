#include "cli/signals.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace manta::cli {

namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

struct StopSignals::Impl : std::enable_shared_from_this<Impl> {
  Impl(boost::asio::io_context& context, std::function<void(int)> handler)
      : signals(context, SIGINT, SIGTERM), on_signal(std::move(handler)) {
    // `nohup` means it: who set it aside does not want to hear of it.
    if (!is_ignored(SIGHUP)) signals.add(SIGHUP);
  }

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

HeldSignals::HeldSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

HeldSignals::~HeldSignals() {
  if (fd_ >= 0) ::close(fd_);
  release();
}

int HeldSignals::take() {
  signalfd_siginfo info{};
  if (fd_ < 0 || ::read(fd_, &info, sizeof info) != sizeof info) return 0;
  return int(info.ssi_signo);
}

void HeldSignals::release() {
  if (held_) ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  held_ = false;
}

void survive_closed_pipes() {
  struct sigaction action{};
  action.sa_handler = [](int) {};  // not SIG_IGN, which an exec would hand on
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace manta::cli
