#include "local/node/helper_process.h"

#include "base/asio_loop.h"
#include "base/log.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace manta::local {

namespace asio = boost::asio;

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}
Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return failed(ErrorCode::Internal, fmt::format("making a pipe: {}", strerror(errno)));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

/// The waiting side of one helper: reads its news to the end, then waits for the process.
struct HelperProcess::Io : std::enable_shared_from_this<HelperProcess::Io> {
  Io(AsioLoop& loop, int socket_fd, int pid_fd, std::shared_ptr<HelperProcess> owner)
      : socket(loop.context(), socket_fd), pid(loop.context(), pid_fd), process(std::move(owner)) {}

  void read() {
    socket.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](auto error) {
                        if (error || !self->receive()) {
                          self->wait();
                        } else {
                          self->read();
                        }
                      });
  }

  /// False at the end of the stream.
  bool receive() {
    char buffer[16384];
    iovec piece = {buffer, sizeof buffer};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const auto got = recvmsg(socket.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    if (auto* header = CMSG_FIRSTHDR(&message);
        header != nullptr && header->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(header), sizeof fd);
      process->received_ = Fd(fd);
    }
    text.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      auto news = parse_news(std::string_view(text).substr(0, end));
      if (news)
        process->news_.push(std::move(*news));
      else
        log::error("unreadable news from a helper", {{"error", news.error().message}});
    }
    return true;
  }

  void wait() {
    pid.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](auto) {
      int status = 0;
      waitpid(self->process->pid_, &status, WNOHANG);
      self->process->ended_ = true;
      self->process->news_.close();
    });
  }

  asio::posix::stream_descriptor socket;
  asio::posix::stream_descriptor pid;
  std::shared_ptr<HelperProcess> process;
  std::string text = {};
};

HelperProcess::HelperProcess(AsioLoop& loop, int pid, Fd pidfd)
    : pid_(pid), pidfd_(std::move(pidfd)), news_(loop) {}
HelperProcess::~HelperProcess() = default;

void HelperProcess::signal(int number) {
  if (!ended_) syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

/// Out of the way of the small numbers that the child's descriptors get.
static Fd move_up(Fd fd) { return Fd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 10)); }

static Fd spec_file(const HelperSpec& spec) {
  Fd file(memfd_create("manta-spec", MFD_CLOEXEC));
  const auto text = dump_json(to_json(spec));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return {};
  lseek(file.get(), 0, SEEK_SET);
  return move_up(std::move(file));
}

Result<std::shared_ptr<HelperProcess>> HelperProcess::spawn(AsioLoop& loop,
                                                            const std::string& executable,
                                                            const std::string& marker,
                                                            HelperSpec spec,
                                                            HelperStreams streams) {
  spec.parent_pid = getpid();
  const auto spec_fd = spec_file(spec);
  int ends[2] = {-1, -1};
  if (!spec_fd || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failed(ErrorCode::Internal, fmt::format("starting a helper: {}", strerror(errno)));
  Fd ours(ends[0]);
  const Fd theirs = move_up(Fd(ends[1]));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int number = 0;
  std::vector<Fd> held;
  for (auto* stream : {&streams.in, &streams.out, &streams.err}) {
    if (*stream) {
      held.push_back(move_up(std::move(*stream)));
      posix_spawn_file_actions_adddup2(&actions, held.back().get(), number);
    } else {
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null",
                                       number == 0 ? O_RDONLY : O_WRONLY, 0);
    }
    ++number;
  }
  posix_spawn_file_actions_adddup2(&actions, spec_fd.get(), kHelperSpecFd);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kHelperNewsFd);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: Ctrl-C in the daemon's terminal is the daemon's to handle.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::string name = "manta";
  std::string mode(kHelperArgument);
  std::string mark = marker;
  char* argv[] = {name.data(), mode.data(), mark.data(), nullptr};
  char* env[] = {nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, executable.c_str(), &actions, &attributes, argv, env);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return failed(ErrorCode::Internal,
                  fmt::format("starting {} as a helper: {}", executable, strerror(error)));
  Fd pidfd(static_cast<int>(syscall(
      SYS_pidfd_open, pid, 0)));  // it cannot have been waited for, so the number is still its own
  const int pidfd_copy = fcntl(pidfd.get(), F_DUPFD_CLOEXEC, 3);
  std::shared_ptr<HelperProcess> process(new HelperProcess(loop, pid, std::move(pidfd)));
  std::make_shared<Io>(loop, ours.release(), pidfd_copy, process)->read();
  return process;
}

}  // namespace manta::local
