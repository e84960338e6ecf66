#include "local/apiserver/spdy.h"

#include "local/apiserver/api_server.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace manta::local {
namespace {

TEST(SpdyHeaders, ReadsWhatItWrites) {
  SpdyHeaders sender, receiver;
  for (int i = 0; i < 3; ++i) {  // one compression stream for all blocks
    const std::map<std::string, std::string> headers{{"streamtype", "data"},
                                                     {"port", std::to_string(8000 + i)}};
    auto read = receiver.read(sender.write(headers));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, headers);
  }
  EXPECT_FALSE(receiver.read("garbage"));
}

// Once asked for without end.
TEST(SpdyHeaders, AnotherDictionaryIsRefused) {
  z_stream stream = {};
  deflateInit(&stream, Z_DEFAULT_COMPRESSION);
  std::string dictionary = "not SPDY's", text = "abc", out(256, '\0');
  deflateSetDictionary(&stream, reinterpret_cast<unsigned char*>(dictionary.data()),
                       static_cast<uInt>(dictionary.size()));
  stream.next_in = reinterpret_cast<unsigned char*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_SYNC_FLUSH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  EXPECT_FALSE(SpdyHeaders().read(out));
}

/// Gives what a client sent, then the end.
class Client final : public ServerConnection {
 public:
  explicit Client(std::string sent) : sent_(std::move(sent)) {}
  Task<Result<std::string>> read_some() override {
    if (sent_.empty()) co_return failed(ErrorCode::Unavailable, "the end");
    co_return std::exchange(sent_, {});
  }
  Task<bool> write(std::string data) override {
    got += data;
    co_return true;
  }
  void close() override {}

  std::string got = {};

 private:
  std::string sent_;
};

/// A Pod whose connections end at once.
class Closed final : public PodBackend {
 public:
  Task<Result<void>> logs(ContainerTarget, LogOptions, OutputSink, std::stop_token) override {
    co_return failed(ErrorCode::NotFound, "none");
  }
  Task<Result<int>> exec(ExecRequest, ExecStreams, std::stop_token) override { co_return 0; }
  Task<Result<void>> forward(ContainerTarget, std::uint16_t port, ForwardStream,
                             std::stop_token) override {
    ports.push_back(port);
    co_return Result<void>{};
  }
  std::vector<std::uint16_t> ports = {};
};

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>((value >> shift) & 0xff);
  return text;
}

/// A frame that opens a stream.
std::string open_stream(SpdyHeaders& headers, std::uint32_t id, std::string type,
                        std::string request) {
  const auto body =
      big_endian(id) + big_endian(0) + std::string(2, '\0') +
      headers.write(
          {{"streamtype", std::move(type)}, {"requestid", std::move(request)}, {"port", "80"}});
  return big_endian(0x80030001u) + big_endian(static_cast<std::uint32_t>(body.size())) + body;
}

/// One WebSocket message, masked with zeros.
std::string message(std::string_view data) {
  std::string frame("\x82\xff", 2);
  for (int shift = 56; shift >= 0; shift -= 8)
    frame += static_cast<char>((data.size() >> shift) & 0xff);
  return frame.append(4, '\0').append(data);
}

struct World {
  AsioLoop loop;
  SeededRandom random{1};
  std::unique_ptr<Store> store = std::move(*Store::open({}));
  ApiServer api{loop, random, *store};
  Closed pod;

  std::string serve(const std::string& sent) {
    api.set_pod_backend(&pod);
    const auto client = std::make_shared<Client>(message(sent));
    const auto context = std::make_shared<const SessionContext>(SessionContext{loop, api});
    const auto socket = std::make_shared<WebSocket>(std::make_shared<BufferedReader>(client));
    run_to_end(loop, [](auto shared, auto web) -> Task<bool> {
      co_await serve_spdy_forward(shared, web, {});
      co_return true;
    }(context, socket));
    return client->got;
  }
};

// The request's data stream had ended and was looked for all the same, which ended the process.
TEST(SpdyForward, AThirdStreamOfARequestIsNotTheFirstAgain) {
  World world;
  SpdyHeaders headers;
  const auto sent = open_stream(headers, 1, "error", "0") + open_stream(headers, 3, "data", "0") +
                    open_stream(headers, 5, "error", "0") + open_stream(headers, 7, "error", "0") +
                    open_stream(headers, 9, "data", "1") + open_stream(headers, 11, "error", "1");
  EXPECT_FALSE(world.serve(sent).empty());
  EXPECT_EQ(world.pod.ports, (std::vector<std::uint16_t>{80, 80}));
}

TEST(SpdyForward, MayBeSentManySmallFrames) {
  World world;
  std::string sent;
  for (int i = 0; i < 300'000; ++i) sent += big_endian(1) + big_endian(0);  // data of no stream
  SpdyHeaders headers;
  sent += open_stream(headers, 1, "error", "0") + open_stream(headers, 3, "data", "0");
  world.serve(sent);
  EXPECT_EQ(world.pod.ports.size(), 1u);
}

}  // namespace
}  // namespace manta::local
