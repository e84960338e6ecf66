// One blocking TCP connection; every call has a deadline.
#pragma once

#include "base/result.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace manta::submitter {

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline in(std::chrono::milliseconds span) {
  return std::chrono::steady_clock::now() + span;
}

class Connection {
 public:
  static Result<Connection> open(const std::string& host, const std::string& port,
                                 Deadline deadline);
  ~Connection();
  Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Connection& operator=(Connection&&) = delete;

  Result<void> send(std::string_view bytes, Deadline deadline);
  /// What has come, at least a byte; empty at the end of the stream.
  Result<std::string> receive(Deadline deadline);

 private:
  explicit Connection(int socket) : socket_(socket) {}
  Result<void> wait_for(short event, Deadline deadline);
  Result<void> connect_to(const void* address, unsigned length, Deadline deadline);

  int socket_ = -1;
};

}  // namespace manta::submitter
