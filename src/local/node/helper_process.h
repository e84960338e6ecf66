// Starts helper processes and hears from them, without ever blocking the loop.
#pragma once

#include "base/async.h"
#include "local/node/helper_spec.h"

#include <memory>
#include <string>

namespace manta {
class AsioLoop;
}

namespace manta::local {

/// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A helper's standard streams; an unset one is /dev/null.
struct HelperStreams {
  Fd in = {}, out = {}, err = {};
};

class HelperProcess {
 public:
  /// `executable`: this program's own path; `marker` becomes visible in the process list.
  static Result<std::shared_ptr<HelperProcess>> spawn(AsioLoop& loop, const std::string& executable,
                                                      const std::string& marker, HelperSpec spec,
                                                      HelperStreams streams = {});
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  int pid() const { return pid_; }
  /// What it says; closed when it has ended and was waited for.
  Channel<HelperNews>& news() { return news_; }
  /// No effect once it has ended.
  void signal(int number);
  /// dial: the connection it handed over.
  Fd take_received() { return std::move(received_); }

 private:
  struct Io;
  HelperProcess(AsioLoop& loop, int pid, Fd pidfd);

  int pid_;
  Fd pidfd_;
  Channel<HelperNews> news_;
  Fd received_ = {};
  bool ended_ = false;
};

/// A pipe whose read end does not block and whose ends stay out of other processes.
struct Pipe {
  Fd read = {}, write = {};
};
Result<Pipe> make_pipe();

}  // namespace manta::local
