#include "kube/http2_connection.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_map>

namespace manta::kube::http {
namespace {

// Large lists flow without waiting for window updates; memory is only taken by what arrives.
constexpr std::int32_t kStreamWindow = 4 << 20;
constexpr std::int32_t kConnectionWindow = 16 << 20;
constexpr std::size_t kWriteSize = 64 << 10;
constexpr int kQuietTicks = 2;  // then a PING; one more without a word and the peer is dead
constexpr int kIdleTicks = 6;
// Until the server's SETTINGS say otherwise. Source: RFC 9113 §6.5.2 recommends no less.
constexpr std::uint32_t kAssumedStreams = 100;
constexpr std::uint32_t kMostStreams = 1000;

class Http2Connection final : public Connection,
                              public std::enable_shared_from_this<Http2Connection> {
 public:
  Http2Connection(Loop& loop, std::shared_ptr<Transport> transport, Duration tick,
                  OnChange on_change)
      : loop_(loop),
        transport_(std::move(transport)),
        tick_(tick),
        on_change_(std::move(on_change)) {}
  ~Http2Connection() override { nghttp2_session_del(session_); }

  void begin() {
    make_session();
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(kStreamWindow)}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
    schedule_flush();
    read();
    arm_timer();
  }

  bool can_start() const override { return !closed_ && !draining_ && streams_.size() < limit_; }
  bool is_full() const override { return !can_start() && (has_settings_ || draining_ || closed_); }
  bool is_closed() const override { return closed_; }
  std::size_t active() const override { return streams_.size(); }

  void start(std::shared_ptr<Exchange> exchange) override;
  void drain() override {
    draining_ = true;
    if (streams_.empty()) shut("drained");
  }
  void close(Error why) override {
    auto streams = std::exchange(streams_, {});
    for (auto& [id, stream] : streams) {
      stream.exchange->detach = {};
      stream.exchange->fail(why);
    }
    shut("closed");
  }

 private:
  struct Stream {
    std::shared_ptr<Exchange> exchange;
    std::size_t sent = 0;  // of the body
    bool ended = false;    // END_STREAM has come
  };

  void make_session();
  Stream* find(std::int32_t id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : &found->second;
  }

  void read() {
    transport_->read([self = shared_from_this()](Result<std::string_view> bytes) {
      self->on_read(std::move(bytes));
    });
  }
  void on_read(Result<std::string_view> bytes) {
    if (closed_) return;
    if (!bytes) return shut(bytes.error().message);
    quiet_ticks_ = 0;
    const auto used = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
    if (closed_) return;
    if (used < 0) return shut(nghttp2_strerror(static_cast<int>(used)));
    flush();
    if (!closed_ && draining_ && streams_.empty()) return shut("the server said goodbye");
    if (!closed_ && nghttp2_session_want_read(session_) == 0 &&
        nghttp2_session_want_write(session_) == 0)
      return shut("the session ended");
    if (!closed_) read();
  }

  // Once a turn of the loop, so that requests made in one turn leave in one write.
  void schedule_flush() {
    if (std::exchange(flush_scheduled_, true)) return;
    loop_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->flush_scheduled_ = false;
        self->flush();
      }
    });
  }
  void flush() {
    if (writing_ || closed_) return;
    std::string out;
    while (out.size() < kWriteSize) {
      const std::uint8_t* data = nullptr;
      const auto size = nghttp2_session_mem_send(session_, &data);
      if (size < 0) return shut(nghttp2_strerror(static_cast<int>(size)));
      if (size == 0) break;
      out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    if (out.empty()) return;
    writing_ = true;
    transport_->write(std::move(out), [self = shared_from_this()](Result<void> written) {
      self->writing_ = false;
      if (self->closed_) return;
      if (!written) return self->shut(written.error().message);
      self->flush();
    });
  }

  void cancel(std::int32_t id) {
    streams_.erase(id);
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    schedule_flush();
    on_change_();
  }

  void shut(std::string_view why) {
    if (closed_) return;
    closed_ = true;
    loop_.cancel(timer_);
    transport_->close();
    auto streams = std::exchange(streams_, {});
    for (auto& [id, stream] : streams) {
      stream.exchange->detach = {};
      stream.exchange->fail(lost(why));
    }
    on_change_();
  }

  void arm_timer() {
    timer_ = loop_.after(tick_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->on_tick();
    });
  }
  void on_tick() {
    if (closed_) return;
    idle_ticks_ = streams_.empty() ? idle_ticks_ + 1 : 0;
    if (idle_ticks_ >= kIdleTicks) {
      nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR);
      flush();
      return shut("idle");
    }
    ++quiet_ticks_;
    if (quiet_ticks_ > kQuietTicks) return shut("no answer to a PING");
    if (quiet_ticks_ == kQuietTicks) {
      nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
      flush();
    }
    arm_timer();
  }

  void on_header(std::int32_t id, std::string_view name, std::string_view value);
  void on_frame(const nghttp2_frame& frame);
  void on_stream_close(std::int32_t id, std::uint32_t code);

  Loop& loop_;
  std::shared_ptr<Transport> transport_;
  Duration tick_;
  OnChange on_change_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<std::int32_t, Stream> streams_ = {};
  std::size_t limit_ = kAssumedStreams;
  Loop::TimerId timer_ = 0;
  int quiet_ticks_ = 0;
  int idle_ticks_ = 0;
  bool has_settings_ = false;
  bool flush_scheduled_ = false;
  bool writing_ = false;
  bool closed_ = false;
  bool draining_ = false;
};

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

void Http2Connection::make_session() {
  nghttp2_session_callbacks* callbacks = nullptr;
  MANTA_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* self) {
        static_cast<Http2Connection*>(self)->on_header(
            frame->hd.stream_id, text_of(name, name_size), text_of(value, value_size));
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* user) {
        auto* self = static_cast<Http2Connection*>(user);
        if (auto* stream = self->find(id)) {
          const auto exchange = stream->exchange;  // take_body may drop the stream
          exchange->take_body(text_of(data, size));
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
        static_cast<Http2Connection*>(self)->on_frame(*frame);
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type == NGHTTP2_HEADERS)
          if (auto* stream = static_cast<Http2Connection*>(user)->find(frame->hd.stream_id))
            stream->exchange->surely_unsent = false;
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t code, void* self) {
        static_cast<Http2Connection*>(self)->on_stream_close(id, code);
        return 0;
      });
  MANTA_CHECK(nghttp2_session_client_new(&session_, callbacks, this) == 0);
  nghttp2_session_callbacks_del(callbacks);
}

void Http2Connection::start(std::shared_ptr<Exchange> exchange) {
  const auto& request = *exchange->request;
  std::vector<nghttp2_nv> fields;
  const auto add = [&fields](std::string_view name, std::string_view value, bool secret = false) {
    const auto bytes = [](std::string_view text) {
      return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
    };
    const std::uint8_t flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
    fields.push_back({bytes(name), bytes(value), name.size(), value.size(), flags});
  };
  const auto authority = exchange->url.authority();
  add(":method", request.method);
  add(":scheme", exchange->url.scheme);
  add(":authority", authority);
  add(":path", exchange->url.target);
  std::vector<std::string> names;
  names.reserve(request.headers.size());
  for (const auto& [name, value] : request.headers) {
    auto& lower = names.emplace_back(name);
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    add(lower, value);
  }
  const auto length = std::to_string(request.body.size());
  if (!request.body.empty()) add("content-length", length);

  nghttp2_data_provider provider = {};
  provider.source.ptr = this;
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* out,
                              std::size_t room, std::uint32_t* flags, nghttp2_data_source* source,
                              void*) -> ssize_t {
    auto* stream = static_cast<Http2Connection*>(source->ptr)->find(id);
    if (!stream) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // cancelled
    const std::string& body = stream->exchange->request->body;
    const auto size = std::min(room, body.size() - stream->sent);
    std::memcpy(out, body.data() + stream->sent, size);
    stream->sent += size;
    if (stream->sent == body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  };
  const auto id = nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                         request.body.empty() ? nullptr : &provider, nullptr);
  if (id < 0) {
    // Stream ids run out after 2³⁰ requests: nothing was sent, the pool opens another connection.
    draining_ = true;
    exchange->finish(failed(lost(nghttp2_strerror(id))));
    return;
  }
  exchange->detach = [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->cancel(id);
  };
  streams_.emplace(id, Stream{.exchange = std::move(exchange)});
  schedule_flush();
}

void Http2Connection::on_header(std::int32_t id, std::string_view name, std::string_view value) {
  auto* stream = find(id);
  if (!stream) return;
  auto& response = stream->exchange->response;
  if (name == ":status") {
    std::from_chars(value.data(), value.data() + value.size(), response.status);
    response.headers.clear();  // those of a 1xx before it
  } else if (!name.starts_with(':') && !stream->exchange->has_head) {
    response.headers.emplace_back(std::string(name), std::string(value));
  }
}

void Http2Connection::on_frame(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_SETTINGS:
      if ((frame.hd.flags & NGHTTP2_FLAG_ACK) == 0) {
        limit_ = std::min(
            nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
            kMostStreams);
        has_settings_ = true;
        on_change_();
      }
      return;
    case NGHTTP2_GOAWAY: {
      draining_ = true;  // nghttp2 closes the streams that the server will not look at as REFUSED
      on_change_();
      return;
    }
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA: {
      auto* stream = find(frame.hd.stream_id);
      if (!stream) return;
      if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->ended = true;
      const auto exchange = stream->exchange;
      if (frame.hd.type == NGHTTP2_HEADERS && exchange->response.status >= 200 &&
          !exchange->has_head)
        exchange->head_arrived();
      return;
    }
    default:
      return;
  }
}

void Http2Connection::on_stream_close(std::int32_t id, std::uint32_t code) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const auto stream = std::move(found->second);
  streams_.erase(found);
  if (stream.ended && stream.exchange->has_head) {
    stream.exchange->finish({});
  } else {
    if (code == NGHTTP2_REFUSED_STREAM) stream.exchange->surely_unsent = true;
    stream.exchange->finish(failed(
        lost(fmt::format("the server ended the stream ({})", nghttp2_http2_strerror(code)))));
  }
  on_change_();
}

}  // namespace

std::shared_ptr<Connection> make_http2_connection(Loop& loop, std::shared_ptr<Transport> transport,
                                                  Duration tick, OnChange on_change) {
  auto connection =
      std::make_shared<Http2Connection>(loop, std::move(transport), tick, std::move(on_change));
  connection->begin();
  return connection;
}

}  // namespace manta::kube::http
