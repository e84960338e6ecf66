// What the pool (http_client.cc) and the two protocols share. Internal to the HTTP client.
#pragma once

#include "base/async.h"
#include "kube/http_client.h"
#include "kube/http_url.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace manta::kube::http {

/// One request on its way, and its response as it arrives. `done` is set exactly once.
struct Exchange {
  explicit Exchange(Loop& loop) : done(loop) {}

  std::shared_ptr<const HttpRequest> request = {};
  Url url = {};
  std::string target = {};  // what the request line says: absolute through an http proxy
  std::string proxy_authorization = {};
  HttpClient::BodySink sink = {};

  HttpResponse response = {};
  bool surely_unsent = true;  // no byte of it went out, or the server said it did not look at it
  bool was_started = false;   // on a connection; what fails before that is not sent again
  bool has_head = false;
  std::function<void()> on_head = {};
  /// Takes it out of whatever holds it: the queue or the connection. Set by the holder.
  std::function<void()> detach = {};
  OneShot<Result<void>> done;

  void finish(Result<void> result) {
    detach = {};
    done.set(std::move(result));
  }
  void fail(Error error) {
    if (done.is_set()) return;
    if (auto leave = std::exchange(detach, {})) leave();
    finish(failed(std::move(error)));
  }
  void head_arrived() {
    has_head = true;
    if (on_head) on_head();
  }
  /// False: the exchange has failed and left its connection.
  bool take_body(std::string_view piece) {
    if (done.is_set()) return false;
    if (sink && response.status >= 200 && response.status < 300) {
      auto taken = sink(piece);
      if (!taken) fail(std::move(taken.error()));
      return !done.is_set();
    }
    if (response.body.size() + piece.size() > request->max_bytes) {
      fail(Error{.code = ErrorCode::TooLarge,
                 .message = "the response is larger than " + std::to_string(request->max_bytes) +
                            " bytes"});
      return false;
    }
    response.body.append(piece);
    return true;
  }
};

/// An established connection.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Room for one more exchange now.
  virtual bool can_start() const = 0;
  /// As many exchanges as it will ever take at once; false while the server has not said how many.
  virtual bool is_full() const { return !can_start(); }
  /// It carries nothing but a stream, which may last as long as the process.
  virtual bool is_streaming() const { return false; }
  virtual bool is_closed() const = 0;
  virtual std::size_t active() const = 0;
  virtual void start(std::shared_ptr<Exchange> exchange) = 0;
  /// Nothing new; closes when what runs has ended.
  virtual void drain() = 0;
  /// Fails what runs.
  virtual void close(Error why) = 0;
};

/// Called (maybe from within a Connection's own function) when a connection has room again or
/// closed.
using OnChange = std::function<void()>;

inline Error lost(std::string_view why) {
  return {.code = ErrorCode::Unavailable, .message = "connection lost: " + std::string(why)};
}

}  // namespace manta::kube::http
