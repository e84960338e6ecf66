#include "kube/http1_parser.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace manta::kube::http {
namespace {

constexpr std::size_t kMaxHead = 64 << 10;
// Of the line with a chunk's size: else what surrounds a body of bytes would have no bound.
constexpr std::size_t kMaxChunkLine = 128;

std::unexpected<Error> malformed(std::string_view what) {
  return failed(ErrorCode::Unavailable, fmt::format("malformed HTTP/1.1 response: {}", what));
}

}  // namespace

void Http1Parser::expect(bool is_head_request) {
  state_ = State::StatusLine;
  response_ = {};
  line_.clear();
  head_bytes_ = 0;
  left_ = 0;
  chunked_ = has_length_ = begun_ = http10_ = false;
  keep_alive_ = true;
  head_request_ = is_head_request;
}

Result<std::size_t> Http1Parser::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::Complete) {
    begun_ = true;
    const auto rest = bytes.substr(used);
    if (state_ == State::Body || state_ == State::ChunkData || state_ == State::UntilClose) {
      const auto size =
          state_ == State::UntilClose ? rest.size() : std::min<std::uint64_t>(rest.size(), left_);
      used += size;
      left_ -= state_ == State::UntilClose ? 0 : size;
      const bool stop = !events_.on_body(rest.substr(0, size));
      if (left_ == 0 && state_ == State::Body) state_ = State::Complete;
      if (left_ == 0 && state_ == State::ChunkData) state_ = State::ChunkEnd;
      if (stop) return used;
      continue;
    }
    const auto end = rest.find('\n');
    const auto piece = rest.substr(0, end);
    head_bytes_ += piece.size() + (end == std::string_view::npos ? 0 : 1);
    if (head_bytes_ > kMaxHead) return malformed("its head is larger than 64 KiB");
    line_.append(piece);
    used += piece.size();
    if (end == std::string_view::npos) break;
    ++used;
    if (line_.ends_with('\r')) line_.pop_back();
    const auto line = std::exchange(line_, {});
    auto taken = take_line(line);
    if (!taken) return failed(std::move(taken.error()));
  }
  return used;
}

Result<void> Http1Parser::take_line(std::string_view line) {
  switch (state_) {
    case State::StatusLine:
      return take_status(line);
    case State::Headers:
      return line.empty() ? end_headers() : take_header(line);
    case State::ChunkSize:
      return take_chunk_size(line);
    case State::ChunkEnd:
      if (!line.empty()) return malformed("text after a chunk");
      state_ = State::ChunkSize;
      head_bytes_ = 0;
      return {};
    case State::Trailers:
      if (line.empty()) state_ = State::Complete;
      return {};
    case State::Body:
    case State::ChunkData:
    case State::UntilClose:
    case State::Complete:
      break;
  }
  return {};
}

Result<void> Http1Parser::take_status(std::string_view line) {
  if (line.empty()) return {};  // some servers put a line break after the last body
  int status = 0;
  const bool version = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  if (!version || line.size() < 12) return malformed(fmt::format("{:?}", line.substr(0, 60)));
  const auto read = std::from_chars(line.data() + 9, line.data() + 12, status);
  if (read.ptr != line.data() + 12 || status < 100) return malformed("no status code");
  response_.status = status;
  http10_ = line[7] == '0';
  keep_alive_ = !http10_;
  state_ = State::Headers;
  return {};
}

Result<void> Http1Parser::take_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 || line[0] == ' ' || line[0] == '\t')
    return malformed("a header without name");
  auto name = lower_case(line.substr(0, colon));
  const auto value = trim(line.substr(colon + 1));
  if (name == "content-length") {
    std::uint64_t length = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), length);
    if (value.empty() || read.ec != std::errc{} || read.ptr != value.data() + value.size() ||
        (has_length_ && length != left_))
      return malformed("Content-Length");
    has_length_ = true;
    left_ = length;
  } else if (name == "transfer-encoding") {
    if (lower_case(value) != "chunked") return malformed("an unknown Transfer-Encoding");
    chunked_ = true;
  } else if (name == "connection") {
    const auto options = lower_case(value);
    if (options.find("close") != std::string::npos) keep_alive_ = false;
    if (http10_ && options.find("keep-alive") != std::string::npos) keep_alive_ = true;
  }
  response_.headers.emplace_back(std::move(name), std::string(value));
  return {};
}

Result<void> Http1Parser::end_headers() {
  const int status = response_.status;
  if (status < 200 && status != 101) {  // 100 Continue and the like: the real one follows
    const auto bytes = head_bytes_;     // however many heads, they count together
    expect(head_request_);
    head_bytes_ = bytes;
    begun_ = true;
    return {};
  }
  const bool no_body = head_request_ || status == 204 || status == 304 || status == 101;
  if (no_body)
    state_ = State::Complete;
  else if (chunked_)
    state_ = State::ChunkSize;
  else if (has_length_)
    state_ = left_ == 0 ? State::Complete : State::Body;
  else
    state_ = State::UntilClose;
  if (status == 101 || state_ == State::UntilClose) keep_alive_ = false;
  head_bytes_ = 0;
  events_.on_head(std::exchange(response_, {}));
  return {};
}

Result<void> Http1Parser::take_chunk_size(std::string_view line) {
  if (line.size() > kMaxChunkLine) return malformed("the line of a chunk's size is too long");
  const auto digits = trim(line.substr(0, line.find(';')));
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
  if (digits.empty() || read.ec != std::errc{} || read.ptr != digits.data() + digits.size())
    return malformed("a chunk without size");
  state_ = left_ == 0 ? State::Trailers : State::ChunkData;
  return {};
}

bool Http1Parser::end_of_stream() {
  if (state_ != State::UntilClose) return false;
  state_ = State::Complete;
  return true;
}

}  // namespace manta::kube::http
