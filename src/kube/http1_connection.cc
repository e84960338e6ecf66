#include "kube/http1_connection.h"

#include "kube/http1_parser.h"

#include <fmt/format.h>

namespace manta::kube::http {
namespace {

constexpr int kIdleTicks = 6;

class Http1Connection final : public Connection,
                              public std::enable_shared_from_this<Http1Connection> {
 public:
  Http1Connection(Loop& loop, std::shared_ptr<Transport> transport, Duration tick,
                  OnChange on_change)
      : loop_(loop),
        transport_(std::move(transport)),
        tick_(tick),
        on_change_(std::move(on_change)),
        parser_({.on_head = [this](HttpResponse head) { on_head(std::move(head)); },
                 .on_body = [this](std::string_view piece) { return on_body(piece); }}) {}

  void begin() {
    read();
    arm_timer();
  }

  bool can_start() const override { return !closed_ && !draining_ && !exchange_ && !writing_; }
  bool is_closed() const override { return closed_; }
  bool is_streaming() const override { return exchange_ && exchange_->sink; }
  std::size_t active() const override { return exchange_ ? 1 : 0; }

  void start(std::shared_ptr<Exchange> exchange) override {
    const auto& request = *exchange->request;
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method,
                                   exchange->target, exchange->url.authority());
    for (const auto& [name, value] : request.headers)
      head += fmt::format("{}: {}\r\n", name, value);
    if (!exchange->proxy_authorization.empty())
      head += fmt::format("Proxy-Authorization: {}\r\n", exchange->proxy_authorization);
    if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
        request.method == "PATCH")
      head += fmt::format("Content-Length: {}\r\n", request.body.size());
    head += "\r\n";
    head += request.body;

    exchange->surely_unsent = false;
    // The answer to a request that nobody waits for cannot be told from the next one's.
    exchange->detach = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->exchange_.reset();
        self->shut("its request was given up");
      }
    };
    exchange_ = std::move(exchange);
    idle_ticks_ = 0;
    parser_.expect(request.method == "HEAD");
    writing_ = true;
    transport_->write(std::move(head), [self = shared_from_this()](Result<void> written) {
      self->writing_ = false;
      // A server may answer before it has read everything; what it said is read before we give up.
      if (!written && self->exchange_ && !self->parser_.has_begun())
        self->shut(written.error().message);
      if (!self->exchange_) self->on_change_();
    });
  }

  void drain() override {
    draining_ = true;
    if (!exchange_) shut("drained");
  }
  void close(Error why) override {
    if (auto exchange = std::exchange(exchange_, {})) {
      exchange->detach = {};
      exchange->fail(std::move(why));
    }
    shut("closed");
  }

 private:
  void read() {
    transport_->read([self = shared_from_this()](Result<std::string_view> bytes) {
      self->on_read(std::move(bytes));
    });
  }

  void on_read(Result<std::string_view> bytes) {
    if (closed_) return;
    if (!bytes) {
      if (exchange_ && parser_.end_of_stream()) complete();
      return shut(bytes.error().message);
    }
    if (!exchange_) return shut("bytes without a request");
    const auto used = parser_.feed(*bytes);
    if (closed_) return;
    if (!used) return shut(used.error().message);
    if (parser_.is_complete()) {
      const bool more = *used < bytes->size();
      complete();
      if (more) return shut("bytes after the response");
    }
    if (!closed_) read();
  }

  void on_head(HttpResponse head) {
    if (!exchange_) return;
    exchange_->response = std::move(head);
    exchange_->head_arrived();
  }
  bool on_body(std::string_view piece) {
    const auto exchange = exchange_;  // take_body may drop ours
    return exchange && exchange->take_body(piece);
  }

  void complete() {
    const auto exchange = std::exchange(exchange_, {});
    exchange->finish({});
    if (!parser_.keeps_alive() || draining_) return shut("the server keeps no connection");
    if (!writing_) on_change_();
  }

  void shut(std::string_view why) {
    if (closed_) return;
    closed_ = true;
    loop_.cancel(timer_);
    transport_->close();
    if (auto exchange = std::exchange(exchange_, {})) {
      exchange->detach = {};
      exchange->fail(lost(why));
    }
    on_change_();
  }

  void arm_timer() {
    timer_ = loop_.after(tick_, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->closed_) return;
      if (!self->exchange_ && ++self->idle_ticks_ >= kIdleTicks) return self->shut("idle");
      self->arm_timer();
    });
  }

  Loop& loop_;
  std::shared_ptr<Transport> transport_;
  Duration tick_;
  OnChange on_change_;
  Http1Parser parser_;
  std::shared_ptr<Exchange> exchange_ = {};
  Loop::TimerId timer_ = 0;
  int idle_ticks_ = 0;
  bool writing_ = false;
  bool closed_ = false;
  bool draining_ = false;
};

}  // namespace

std::shared_ptr<Connection> make_http1_connection(Loop& loop, std::shared_ptr<Transport> transport,
                                                  Duration tick, OnChange on_change) {
  auto connection =
      std::make_shared<Http1Connection>(loop, std::move(transport), tick, std::move(on_change));
  connection->begin();
  return connection;
}

}  // namespace manta::kube::http
