#include "submitter/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace manta::submitter {
namespace {

std::unexpected<Error> broken(std::string_view what, int error) {
  return failed(ErrorCode::Unavailable, std::string(what) + ": " + std::strerror(error));
}

}  // namespace

Result<Connection> Connection::open(const std::string& host, const std::string& port,
                                    Deadline deadline) {
  std::string name = host;  // [::1] is written so in URLs only
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    name = name.substr(1, name.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(name.c_str(), port.c_str(), &hints, &found); error != 0)
    return failed(ErrorCode::Unavailable, "looking up " + host + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  Result<Connection> last = failed(ErrorCode::Unavailable, host + " has no address");
  for (const auto* at = addresses.get(); at; at = at->ai_next) {
    Connection connection(
        ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol));
    const auto connected = connection.connect_to(at->ai_addr, at->ai_addrlen, deadline);
    if (connected) return connection;
    last = std::unexpected(connected.error().in("connecting to " + host + ":" + port));
  }
  return last;
}

Connection::~Connection() {
  if (socket_ >= 0) ::close(socket_);
}

Result<void> Connection::connect_to(const void* address, unsigned length, Deadline deadline) {
  if (socket_ < 0) return broken("socket", errno);
  if (::connect(socket_, static_cast<const sockaddr*>(address), length) == 0) return {};
  if (errno != EINPROGRESS) return broken("connect", errno);
  if (auto ready = wait_for(POLLOUT, deadline); !ready) return ready;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return broken("connect", error);
  return {};
}

Result<void> Connection::wait_for(short event, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wanted{.fd = socket_, .events = event, .revents = 0};
    const int ready =
        ::poll(&wanted, 1, static_cast<int>(std::clamp<long>(left.count(), 0, 1 << 30)));
    if (ready > 0) return {};
    if (ready == 0) return failed(ErrorCode::Timeout, "Ray's dashboard did not answer in time");
    if (errno != EINTR) return broken("poll", errno);
  }
}

Result<void> Connection::send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(POLLOUT, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return broken("send", errno);
    }
  }
  return {};
}

Result<std::string> Connection::receive(Deadline deadline) {
  std::string buffer(64 << 10, '\0');
  while (true) {
    const auto got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got >= 0) {
      buffer.resize(static_cast<std::size_t>(got));
      return buffer;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(POLLIN, deadline); !ready) return std::unexpected(ready.error());
    } else if (errno != EINTR) {
      return broken("recv", errno);
    }
  }
}

}  // namespace manta::submitter
