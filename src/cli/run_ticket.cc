#include "cli/run_ticket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace manta::cli {

Result<RunTicket> RunTicket::take(const Paths& paths, HeldSignals& held) {
  const auto path = paths.runs().string();
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0)
    return failed(ErrorCode::Forbidden,
                  fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  RunTicket ticket(fd);
  while (::flock(fd, LOCK_SH | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return failed(ErrorCode::Internal,
                    fmt::format("cannot lock {}: {}", path, std::strerror(errno)));
    if (held.take() != 0) return failed(ErrorCode::Cancelled, "interrupted");
    ::poll(nullptr, 0, 20);
  }
  return ticket;
}

std::optional<RunTicket> RunTicket::take_if_no_run(const Paths& paths) {
  const int fd = ::open(paths.runs().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return std::nullopt;
  RunTicket ticket(fd);
  if (!ticket.is_last()) return std::nullopt;
  return ticket;
}

RunTicket::RunTicket(RunTicket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

RunTicket::~RunTicket() {
  if (fd_ >= 0) ::close(fd_);
}

bool RunTicket::is_last() { return ::flock(fd_, LOCK_EX | LOCK_NB) == 0; }

}  // namespace manta::cli
