// RFC 6455 frames, as a client sends and reads them.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace manta::submitter {

enum class Opcode : std::uint8_t {
  Continuation = 0,
  Text = 1,
  Binary = 2,
  Close = 8,
  Ping = 9,
  Pong = 10
};

/// One whole frame of a client: masked, as the RFC asks for.
std::string client_frame(Opcode opcode, std::string_view data, std::uint32_t mask);

class FrameReader {
 public:
  struct Events {
    /// Pieces of text and binary messages as they come: a log line needs no end to be shown.
    std::function<void(std::string_view)> on_data = {};
    std::function<void(std::string_view)> on_ping = {};
    std::function<void(std::uint16_t code)> on_close = {};  // 1005: the frame named none
  };
  explicit FrameReader(Events events) : events_(std::move(events)) {}

  /// Takes all bytes. Fails on what no server may send.
  Result<void> feed(std::string_view bytes);

 private:
  Result<bool> take_head();
  Result<void> take_control();

  Events events_;
  std::string head_ = {};     // of the frame that is being read
  std::string control_ = {};  // its data, when it is a control frame
  Opcode opcode_ = Opcode::Continuation;
  std::uint64_t left_ = 0;  // of its data
  bool in_data_ = false;
};

}  // namespace manta::submitter
