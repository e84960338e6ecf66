#include "submitter/frames.h"

#include <algorithm>

namespace manta::submitter {
namespace {

constexpr std::size_t kMaxControl = 125;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const unsigned char byte : bytes) value = value << 8 | byte;
  return value;
}

bool is_control(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

}  // namespace

std::string client_frame(Opcode opcode, std::string_view data, std::uint32_t mask) {
  std::string frame;
  frame += static_cast<char>(0x80 | static_cast<std::uint8_t>(opcode));
  const auto size = data.size();
  if (size < 126) {
    frame += static_cast<char>(0x80 | size);
  } else {
    const int bytes = size <= 0xffff ? 2 : 8;
    frame += static_cast<char>(0x80 | (bytes == 2 ? 126 : 127));
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
      frame += static_cast<char>(static_cast<std::uint64_t>(size) >> shift);
  }
  const char key[4] = {static_cast<char>(mask >> 24), static_cast<char>(mask >> 16),
                       static_cast<char>(mask >> 8), static_cast<char>(mask)};
  frame.append(key, 4);
  for (std::size_t i = 0; i < size; ++i) frame += static_cast<char>(data[i] ^ key[i % 4]);
  return frame;
}

// True when the head is whole.
Result<bool> FrameReader::take_head() {
  if (head_.size() < 2) return false;
  const auto first = static_cast<std::uint8_t>(head_[0]);
  const auto second = static_cast<std::uint8_t>(head_[1]);
  const auto opcode = first & 0x0f;
  if ((first & 0x70) != 0 || (second & 0x80) != 0 || (opcode > 2 && opcode < 8) || opcode > 10)
    return failed(ErrorCode::Internal, "the log stream is no WebSocket that we agreed on");
  opcode_ = static_cast<Opcode>(opcode);
  const std::size_t more = (second & 0x7f) == 126 ? 2 : (second & 0x7f) == 127 ? 8 : 0;
  if (head_.size() < 2 + more) return false;
  left_ = more == 0 ? second & 0x7f : big_endian(std::string_view(head_).substr(2));
  if (is_control(opcode_) && left_ > kMaxControl)
    return failed(ErrorCode::Internal, "the log stream has a control frame that is too long");
  in_data_ = true;
  head_.clear();
  control_.clear();
  return true;
}

Result<void> FrameReader::take_control() {
  if (opcode_ == Opcode::Ping && events_.on_ping) events_.on_ping(control_);
  if (opcode_ == Opcode::Close && events_.on_close)
    events_.on_close(
        control_.size() < 2 ? 1005 : static_cast<std::uint16_t>(big_endian(control_.substr(0, 2))));
  return {};
}

Result<void> FrameReader::feed(std::string_view bytes) {
  while (true) {
    if (!in_data_) {
      if (bytes.empty()) return {};
      head_ += bytes.front();
      bytes.remove_prefix(1);
      const auto whole = take_head();
      if (!whole) return std::unexpected(whole.error());
      if (!*whole) continue;
    }
    const auto piece = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
    bytes.remove_prefix(piece.size());
    left_ -= piece.size();
    if (is_control(opcode_))
      control_ += piece;
    else if (!piece.empty() && events_.on_data)
      events_.on_data(piece);
    if (left_ > 0) return {};
    in_data_ = false;
    if (is_control(opcode_))
      if (auto taken = take_control(); !taken) return taken;
  }
}

}  // namespace manta::submitter
