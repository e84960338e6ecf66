// HTTP/1.1 responses, piece by piece. Internal to the HTTP client.
#pragma once

#include "base/result.h"
#include "kube/http_client.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace manta::kube::http {

class Http1Parser {
 public:
  struct Events {
    std::function<void(HttpResponse)> on_head = {};      // body empty
    std::function<bool(std::string_view)> on_body = {};  // false: stop reading
  };
  explicit Http1Parser(Events events) : events_(std::move(events)) {}

  /// Before each response. HEAD's has no body whatever its head says.
  void expect(bool is_head_request);
  /// Takes what it can use and answers how much that was; less than all only when the response
  /// ended or on_body said stop. Fails on what is not HTTP.
  Result<std::size_t> feed(std::string_view bytes);
  /// The connection ended. True when that is how the body ends.
  bool end_of_stream();

  bool is_complete() const { return state_ == State::Complete; }
  /// After completion: whether the connection may carry another request.
  bool keeps_alive() const { return keep_alive_; }
  bool has_begun() const { return begun_; }

 private:
  enum class State {
    StatusLine,
    Headers,
    Body,
    ChunkSize,
    ChunkData,
    ChunkEnd,
    Trailers,
    UntilClose,
    Complete
  };

  Result<void> take_line(std::string_view line);
  Result<void> take_status(std::string_view line);
  Result<void> take_header(std::string_view line);
  Result<void> end_headers();
  Result<void> take_chunk_size(std::string_view line);

  Events events_;
  State state_ = State::Complete;
  HttpResponse response_ = {};
  std::string line_ = {};
  std::size_t head_bytes_ = 0;
  std::uint64_t left_ = 0;  // of the body or chunk
  bool chunked_ = false;
  bool has_length_ = false;
  bool keep_alive_ = true;
  bool head_request_ = false;
  bool begun_ = false;
  bool http10_ = false;
};

}  // namespace manta::kube::http
