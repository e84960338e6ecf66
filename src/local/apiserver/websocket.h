// RFC 6455 as a server: the handshake's answer and frames.
#pragma once

#include "local/apiserver/http_request_reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

/// Picks the first of `offered` that we speak; nothing when there is none.
std::optional<std::string> choose_protocol(const HttpRequest& request,
                                           const std::vector<std::string>& ours);
/// The 101 answer.
std::string websocket_handshake(const HttpRequest& request, std::string_view protocol);

class WebSocket {
 public:
  explicit WebSocket(std::shared_ptr<BufferedReader> reader) : reader_(std::move(reader)) {}

  /// The next whole message; nothing at the peer's close or end. Answers pings.
  Task<std::optional<std::string>> read();
  Task<bool> send(std::string data);
  Task<void> close(std::uint16_t code);

 private:
  static constexpr std::size_t kMaxMessage = 32 << 20;
  Task<bool> send_frame(unsigned char opcode, std::string data);

  std::shared_ptr<BufferedReader> reader_;
  bool closed_ = false;
};

}  // namespace manta::local
