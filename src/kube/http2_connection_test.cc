#include "kube/http2_connection.h"

#include "base/virtual_loop.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <cstring>
#include <map>

namespace manta::kube::http {
namespace {

using namespace std::chrono_literals;

/// An HTTP/2 server at the other end of a transport in memory.
class FakeServer final : public Transport {
 public:
  FakeServer(Loop& loop, std::uint32_t max_streams) : loop_(loop) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks,
        [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t n,
           const std::uint8_t* value, std::size_t v, std::uint8_t, void* self) {
          static_cast<FakeServer*>(self)->requests[frame->hd.stream_id] +=
              std::string(reinterpret_cast<const char*>(name), n) + "=" +
              std::string(reinterpret_cast<const char*>(value), v) + ";";
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                      std::size_t size, void* self) {
          static_cast<FakeServer*>(self)->bodies[id].append(reinterpret_cast<const char*>(data),
                                                            size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
          auto* self = static_cast<FakeServer*>(user);
          if (frame->hd.type == NGHTTP2_PING) ++self->pings;
          if (frame->hd.type == NGHTTP2_RST_STREAM) self->resets.push_back(frame->hd.stream_id);
          return 0;
        });
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams}};
    nghttp2_submit_settings(session_, 0, settings, 1);
  }
  ~FakeServer() override { nghttp2_session_del(session_); }

  void read(OnRead done) override {
    reader_ = std::move(done);
    push();
  }
  void write(std::string data, OnWritten done) override {
    if (!deaf)
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(data.data()),
                               data.size());
    loop_.post([done = std::move(done)] { done({}); });
    push();
  }
  void close() override {
    closed = broken_ = true;
    push();  // pending callbacks still come
  }

  /// The whole response; the stream stays open when `end` is false.
  void respond(std::int32_t id, int status, std::string body, bool end = true) {
    const auto code = std::to_string(status);
    nghttp2_nv head{reinterpret_cast<std::uint8_t*>(const_cast<char*>(":status")),
                    reinterpret_cast<std::uint8_t*>(const_cast<char*>(code.data())), 7, code.size(),
                    0};
    auto& out = outgoing_[id];
    out = {std::move(body), 0, end};
    nghttp2_data_provider provider{
        .source = {.ptr = &out},
        .read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room,
                            std::uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
          auto& from = *static_cast<Outgoing*>(source->ptr);
          const auto size = std::min(room, from.body.size() - from.sent);
          std::memcpy(to, from.body.data() + from.sent, size);
          from.sent += size;
          if (from.sent == from.body.size() && from.end) *flags |= NGHTTP2_DATA_FLAG_EOF;
          if (size == 0 && !from.end) return NGHTTP2_ERR_DEFERRED;
          return static_cast<ssize_t>(size);
        }};
    nghttp2_submit_response(session_, id, &head, 1, &provider);
    push();
  }
  void reset(std::int32_t id, std::uint32_t code) {
    nghttp2_submit_rst_stream(session_, 0, id, code);
    push();
  }
  void goaway(std::int32_t last) {
    nghttp2_submit_goaway(session_, 0, last, NGHTTP2_NO_ERROR, nullptr, 0);
    push();
  }
  void break_off() {
    broken_ = true;
    push();
  }

  std::map<std::int32_t, std::string> requests = {};
  std::map<std::int32_t, std::string> bodies = {};
  std::vector<std::int32_t> resets = {};
  int pings = 0;
  bool deaf = false;  // reads nothing and says nothing
  bool closed = false;

 private:
  struct Outgoing {
    std::string body;
    std::size_t sent;
    bool end;
  };

  void push() {
    if (std::exchange(pushing_, true)) return;
    loop_.post([self = shared_from_this(), this] {
      pushing_ = false;
      if (!reader_) return;
      if (broken_)
        return std::exchange(reader_, {})(failed(ErrorCode::Unavailable, "reset by peer"));
      if (deaf) return;
      std::string bytes;
      const std::uint8_t* data = nullptr;
      for (ssize_t size; (size = nghttp2_session_mem_send(session_, &data)) > 0;)
        bytes.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
      if (!bytes.empty()) std::exchange(reader_, {})(std::string_view(bytes));
    });
  }

  Loop& loop_;
  nghttp2_session* session_ = nullptr;
  OnRead reader_ = {};
  std::map<std::int32_t, Outgoing> outgoing_ = {};
  bool pushing_ = false;
  bool broken_ = false;
};

class Http2 : public testing::Test {
 protected:
  ~Http2() override {
    if (connection) connection->close(lost("the test is over"));
    loop.run_ready();
  }
  void connect(std::uint32_t max_streams = 250) {
    server = std::make_shared<FakeServer>(loop, max_streams);
    connection = make_http2_connection(loop, server, 15s, [this] { ++changes; });
    loop.run_ready();
  }
  std::shared_ptr<Exchange> start(HttpRequest request = {}, HttpClient::BodySink sink = {}) {
    if (request.url.empty()) request.url = "https://h/x";
    auto exchange = std::make_shared<Exchange>(loop);
    exchange->url = parse_url(request.url).value();
    exchange->request = std::make_shared<HttpRequest>(std::move(request));
    exchange->sink = std::move(sink);
    connection->start(exchange);
    loop.run_ready();
    return exchange;
  }
  /// "200 body", or the error, or "waits".
  std::string outcome(const std::shared_ptr<Exchange>& exchange) {
    loop.run_ready();
    if (!exchange->done.is_set()) return "waits";
    const auto result = loop.run([](OneShot<Result<void>> done) -> Task<Result<void>> {
      co_return co_await done;
    }(exchange->done));
    if (!result) return std::string(to_string(result.error().code)) + ": " + result.error().message;
    return std::to_string(exchange->response.status) + " " + exchange->response.body;
  }

  VirtualLoop loop;
  std::shared_ptr<FakeServer> server;
  std::shared_ptr<Connection> connection;
  int changes = 0;
};

TEST_F(Http2, RequestsShareTheConnection) {
  connect();
  const auto a = start({.method = "POST",
                        .url = "https://h:6443/a?b=c",
                        .headers = {{"X-Name", "v"}},
                        .body = std::string(100'000, 'x')});
  const auto b = start();
  EXPECT_EQ(
      server->requests[1],
      ":method=POST;:scheme=https;:authority=h:6443;:path=/a?b=c;x-name=v;content-length=100000;");
  EXPECT_EQ(server->bodies[1].size(), 100'000u);
  server->respond(3, 404, "none");
  EXPECT_EQ(outcome(b), "404 none");
  EXPECT_EQ(outcome(a), "waits");
  server->respond(1, 200, std::string(9 << 20, 'y'));  // more than both windows
  EXPECT_EQ(outcome(a), "200 " + std::string(9 << 20, 'y'));
  EXPECT_EQ(connection->active(), 0u);
}

TEST_F(Http2, NoMoreStreamsThanTheServerAllows) {
  connect(2);
  const auto a = start(), b = start();
  EXPECT_FALSE(connection->can_start());
  EXPECT_TRUE(connection->is_full());
  changes = 0;
  server->respond(1, 200, "");
  EXPECT_EQ(outcome(a), "200 ");
  EXPECT_TRUE(connection->can_start());
  EXPECT_GT(changes, 0);
}

TEST_F(Http2, GivingUpResetsOnlyThatStream) {
  connect();
  const auto a = start(), b = start();
  a->fail({.code = ErrorCode::Timeout, .message = "late"});
  EXPECT_EQ(outcome(a), "Timeout: late");
  loop.run_ready();
  EXPECT_EQ(server->resets, std::vector<std::int32_t>{1});
  server->respond(3, 200, "fine");
  EXPECT_EQ(outcome(b), "200 fine");
}

TEST_F(Http2, TooLargeAnAnswerIsGivenUp) {
  connect();
  const auto a = start({.max_bytes = 10});
  server->respond(1, 200, "0123456789A");
  EXPECT_NE(outcome(a).find("TooLarge"), std::string::npos);
  EXPECT_FALSE(connection->is_closed());
}

TEST_F(Http2, RefusedStreamsWereSurelyNotLookedAt) {
  connect();
  const auto refused = start(), broken = start();
  server->reset(1, NGHTTP2_REFUSED_STREAM);
  server->reset(3, NGHTTP2_INTERNAL_ERROR);
  EXPECT_NE(outcome(refused).find("Unavailable"), std::string::npos);
  EXPECT_TRUE(refused->surely_unsent);
  EXPECT_NE(outcome(broken).find("INTERNAL_ERROR"), std::string::npos);
  EXPECT_FALSE(broken->surely_unsent);
}

TEST_F(Http2, GoawayLetsOldStreamsFinishAndRefusesLaterOnes) {
  connect();
  const auto old = start(), late = start();
  server->goaway(1);
  EXPECT_NE(outcome(late).find("Unavailable"), std::string::npos);
  EXPECT_TRUE(late->surely_unsent);
  EXPECT_EQ(outcome(old), "waits");
  EXPECT_FALSE(connection->can_start());
  server->respond(1, 200, "done");
  EXPECT_EQ(outcome(old), "200 done");
  loop.run_ready();
  EXPECT_TRUE(connection->is_closed());
  EXPECT_TRUE(server->closed);
}

TEST_F(Http2, ALostConnectionFailsWhatRuns) {
  connect();
  const auto a = start();
  server->break_off();
  EXPECT_EQ(outcome(a), "Unavailable: connection lost: reset by peer");
  EXPECT_FALSE(a->surely_unsent);
  EXPECT_TRUE(connection->is_closed());
}

TEST_F(Http2, ASilentPeerIsPingedThenGivenUp) {
  connect();
  std::string seen;
  const auto watch = start(
      {}, [&](std::string_view piece) -> Result<void> { return seen += piece, Result<void>{}; });
  server->respond(1, 200, "event", false);
  loop.run_ready();
  EXPECT_EQ(seen, "event");
  loop.run_for(10min);
  EXPECT_GE(server->pings, 5) << "the peer answers, so the stream goes on";
  EXPECT_EQ(outcome(watch), "waits");
  server->deaf = true;
  loop.run_for(75s);
  EXPECT_EQ(outcome(watch), "Unavailable: connection lost: no answer to a PING");
}

TEST_F(Http2, AnIdleConnectionCloses) {
  connect();
  loop.run_for(60s);
  EXPECT_FALSE(connection->is_closed());
  loop.run_for(60s);
  EXPECT_TRUE(connection->is_closed());
  EXPECT_FALSE(loop.next_timer());
}

TEST_F(Http2, ASinkMayEndItsStream) {
  connect();
  const auto a = start(
      {}, [](std::string_view) -> Result<void> { return failed(ErrorCode::Expired, "gone"); });
  server->respond(1, 200, "event", false);
  EXPECT_EQ(outcome(a), "Expired: gone");
  loop.run_ready();
  EXPECT_EQ(server->resets, std::vector<std::int32_t>{1});
}

}  // namespace
}  // namespace manta::kube::http
