// What clients send once a request has become a stream: WebSocket frames and SPDY's header blocks.
#include "base/virtual_loop.h"
#include "fuzz/cuts.h"
#include "fuzz/fuzz.h"
#include "fuzz/pieces.h"
#include "local/apiserver/spdy.h"
#include "local/apiserver/websocket.h"

#include <functional>

using namespace manta;
using namespace manta::fuzz;
using namespace manta::local;

// Every message in the bytes, then what was answered.
static std::string read_all(std::string_view bytes, std::function<std::size_t()> size,
                            std::size_t* messages = nullptr) {
  VirtualLoop loop;
  const auto connection = std::make_shared<Pieces>(bytes, std::move(size));
  WebSocket socket(std::make_shared<BufferedReader>(connection));
  std::string out;
  while (const auto message = loop.run(socket.read())) {
    out += std::to_string(message->size()) + ":" + *message + ",";
    if (messages) ++*messages;
  }
  return out + "|" + connection->answers;
}

static std::string frame(unsigned char first, std::string data, Input& in) {
  std::string made(1, static_cast<char>(first));
  if (data.size() < 126 && in.flag()) {
    made += static_cast<char>(0x80 | data.size());
  } else {
    made += static_cast<char>(0xfe);
    made += static_cast<char>(data.size() >> 8);
    made += static_cast<char>(data.size() & 0xff);
  }
  const std::string mask = in.flag() ? "abcd" : std::string(4, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(data[i] ^ mask[i % 4]);
  return made + mask + data;
}

// Messages come whole, however many frames they are in and whatever pings come between.
static void check_messages(Input& in) {
  std::string bytes, wanted;
  std::size_t count = 0, seen = 0;
  for (int n = in.number(0, 4); n > 0; --n, ++count) {
    std::string message;
    for (int parts = in.number(0, 2); parts > 0; --parts) {
      const auto part = in.bytes(150);
      bytes += frame(parts == 2 ? 0x02 : 0x00, part, in);
      if (in.flag()) bytes += frame(0x8a, "pong", in);
      message += part;
    }
    const auto last = in.bytes(150);
    bytes += frame(0x80, last, in);
    message += last;
    wanted += std::to_string(message.size()) + ":" + message + ",";
  }
  const auto got = read_all(bytes, [&] { return in.number<std::size_t>(1, 99); }, &seen);
  FUZZ_CHECK(seen == count && got == wanted + "|", bytes, got, wanted);
}

static void check_headers(Input& in, std::string_view data) {
  SpdyHeaders sender, receiver;
  for (int n = in.number(1, 3); n > 0; --n) {
    std::map<std::string, std::string> headers;
    for (int count = in.number(0, 4); count > 0; --count) headers[in.bytes(20)] = in.bytes(60);
    auto block = sender.write(headers);
    FUZZ_CHECK(receiver.read(block) == headers, block);
    if (in.rarely(4) && !block.empty()) {  // and then something else
      block[in.number<std::size_t>(0, block.size() - 1)] ^= static_cast<char>(in.number(1, 255));
      SpdyHeaders other;
      (void)other.read(block);
    }
  }
  SpdyHeaders other;
  (void)other.read(data);
  (void)other.read(data);
}

FUZZ(data) {
  Input in(data);
  check_cuts(data, in, [](std::string_view bytes, PieceSize size) {
    return read_all(bytes, std::move(size));
  });
  Input choices(data);
  check_messages(choices);
  check_headers(choices, data);
}
