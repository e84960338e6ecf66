#include "local/apiserver/websocket.h"

#include "base/hash.h"
#include "base/text.h"
#include "fmt/format.h"
#include "local/apiserver/http_text.h"

#include <openssl/sha.h>

#include <algorithm>

namespace manta::local {

std::optional<std::string> choose_protocol(const HttpRequest& request,
                                           const std::vector<std::string>& ours) {
  auto upgrade = request.headers.find("upgrade");
  auto offered = request.headers.find("sec-websocket-protocol");
  if (upgrade == request.headers.end() || upgrade->second.find("ebsocket") == std::string::npos ||
      !request.headers.contains("sec-websocket-key") || offered == request.headers.end())
    return std::nullopt;
  for (const auto& name : split(offered->second, ','))
    if (std::ranges::find(ours, trim(name)) != ours.end()) return std::string(trim(name));
  return std::nullopt;
}

std::string websocket_handshake(const HttpRequest& request, std::string_view protocol) {
  // The key and this constant, hashed. Source: RFC 6455 §1.3.
  const auto text =
      request.headers.at("sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return fmt::format(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
      "Upgrade\r\nSec-WebSocket-Accept: {}\r\n"
      "Sec-WebSocket-Protocol: {}\r\n\r\n",
      base64_encode(std::string_view(reinterpret_cast<const char*>(digest), sizeof digest)),
      protocol);
}

Task<std::optional<std::string>> WebSocket::read() {
  std::string message;
  while (true) {
    auto head = co_await reader_->take(2);
    if (!head) co_return std::nullopt;
    const auto first = static_cast<unsigned char>((*head)[0]),
               second = static_cast<unsigned char>((*head)[1]);
    std::uint64_t size = second & 0x7f;
    if (size >= 126) {
      auto longer = co_await reader_->take(size == 126 ? 2 : 8);
      if (!longer) co_return std::nullopt;
      size = 0;
      for (const char c : *longer) size = size << 8 | static_cast<unsigned char>(c);
    }
    if (size > kMaxMessage || message.size() + size > kMaxMessage || !(second & 0x80)) {
      co_await close(1002);  // clients must mask
      co_return std::nullopt;
    }
    auto mask = co_await reader_->take(4);
    if (!mask) co_return std::nullopt;
    auto data = co_await reader_->take(size);
    if (!data) co_return std::nullopt;
    for (std::size_t i = 0; i < data->size(); ++i)
      (*data)[i] = static_cast<char>((*data)[i] ^ (*mask)[i % 4]);
    const auto opcode = first & 0x0f;
    if (opcode == 8) {
      co_await close(1000);
      co_return std::nullopt;
    }
    if (opcode == 9) {
      co_await send_frame(10, std::move(*data));
      continue;
    }
    if (opcode == 10) continue;
    message += *data;
    if (first & 0x80) co_return message;
  }
}

Task<bool> WebSocket::send_frame(unsigned char opcode, std::string data) {
  std::string frame;
  frame += static_cast<char>(0x80 | opcode);
  if (data.size() < 126)
    frame += static_cast<char>(data.size());
  else if (data.size() < 65536) {
    frame += static_cast<char>(126);
    frame += static_cast<char>(data.size() >> 8);
    frame += static_cast<char>(data.size() & 0xff);
  } else {
    frame += static_cast<char>(127);
    for (int shift = 56; shift >= 0; shift -= 8)
      frame += static_cast<char>((data.size() >> shift) & 0xff);
  }
  co_return co_await reader_->connection().write(frame + data);
}

Task<bool> WebSocket::send(std::string data) {
  if (closed_) co_return false;
  co_return co_await send_frame(2, std::move(data));
}

Task<void> WebSocket::close(std::uint16_t code) {
  if (std::exchange(closed_, true)) co_return;
  std::string data;
  data += static_cast<char>(code >> 8);
  data += static_cast<char>(code & 0xff);
  co_await send_frame(8, std::move(data));
}

}  // namespace manta::local
