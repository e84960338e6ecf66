#include "local/apiserver/http_request_reader.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

namespace manta::local {
namespace {

constexpr std::size_t kMaxBody = 3 << 20;   // as the real server's
constexpr std::size_t kMaxChunkLine = 256;  // a chunk's length and what may follow it
/// Who has not sent a whole head, or the body it announced, by then is not waited for any longer.
constexpr Duration kHeadPatience = std::chrono::seconds{90};
constexpr Duration kBodyPatience = std::chrono::seconds{60};

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// Neither a control character nor (from 0x21) a space.
bool is_printable(std::string_view text, unsigned char from) {
  return std::ranges::all_of(
      text, [from](unsigned char c) { return c == '\t' ? from == ' ' : c >= from && c != 0x7f; });
}

/// What comes next in a chunked body.
enum class Chunk { More, Data, Last, Bad };
struct ChunkRead {
  Chunk what = Chunk::More;
  std::string_view data = {};  // of Data
  std::size_t used = 0;        // bytes of the text; of Last, without trailers
};

ChunkRead next_chunk(std::string_view text) {
  const auto end = text.find("\r\n");
  if (end == text.npos ? text.size() > kMaxChunkLine + 1 : end > kMaxChunkLine) return {Chunk::Bad};
  if (end == text.npos) return {};
  const auto line = text.substr(0, end);
  std::size_t size = 0;
  const auto [stop, code] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  const auto rest = line.substr(static_cast<std::size_t>(stop - line.data()));
  if (code != std::errc() || (!rest.empty() && rest.find_first_of(";\t ") != 0) ||
      !is_printable(rest, ' '))
    return {Chunk::Bad};
  if (size == 0) return {Chunk::Last, {}, end + 2};
  if (size > kMaxBody) return {Chunk::Data, {}, size};  // too large, whatever follows
  const auto after = text.substr(end + 2);
  if (after.size() < size + 2) {
    // What cannot become the end of a chunk is not waited for.
    const bool good = after.size() <= size || after[size] == '\r';
    return {good ? Chunk::More : Chunk::Bad};
  }
  if (after.substr(size, 2) != "\r\n") return {Chunk::Bad};
  return {Chunk::Data, after.substr(0, size), end + 2 + size + 2};
}

/// Closes a connection that is still being read from when its time is over.
class ReadDeadline {
 public:
  ReadDeadline(Loop& loop, const ConnectionPtr& connection, Duration patience)
      : loop_(loop), timer_(loop.after(patience, [weak = std::weak_ptr(connection)] {
          if (auto live = weak.lock()) live->close();
        })) {}
  ~ReadDeadline() { loop_.cancel(timer_); }
  ReadDeadline(const ReadDeadline&) = delete;
  ReadDeadline& operator=(const ReadDeadline&) = delete;

 private:
  Loop& loop_;
  Loop::TimerId timer_;
};

}  // namespace

Task<bool> BufferedReader::fill() {
  auto data = co_await connection_->read_some();
  if (!data) co_return false;
  buffer_ += *data;
  co_return true;
}

Task<std::optional<std::string>> BufferedReader::take(std::size_t size) {
  while (buffer_.size() < size)
    if (!co_await fill()) co_return std::nullopt;
  std::string data = buffer_.substr(0, size);
  buffer_.erase(0, size);
  co_return data;
}

Task<ReadEnd> RequestReader::read_head(Loop& loop) {
  const ReadDeadline deadline(loop, reader_.shared(), kHeadPatience);
  const auto& buffer = reader_.buffer();
  std::size_t end, seen = 0;
  while (true) {
    end = buffer.find("\r\n\r\n", seen);
    // Without its end in sight the head has all but the last three bytes, at least.
    if (end == std::string::npos ? buffer.size() > kMaxHead + 3 : end > kMaxHead)
      co_return bad("the request's headers are too long");
    if (end != std::string::npos) break;
    seen = buffer.size() > 3 ? buffer.size() - 3 : 0;
    if (!co_await reader_.fill()) co_return ReadEnd::Closed;
  }
  const std::string head = buffer.substr(0, end);
  reader_.buffer().erase(0, end + 4);
  co_return parse_head(head) ? ReadEnd::Request : ReadEnd::Bad;
}

bool RequestReader::has_body() const {
  return request.headers.contains("transfer-encoding") ||
         request.headers.contains("content-length");
}

Task<ReadEnd> RequestReader::read_body(Loop& loop) {
  const ReadDeadline deadline(loop, reader_.shared(), kBodyPatience);
  const auto& headers = request.headers;
  if (auto expect = headers.find("expect");
      expect != headers.end() && lower_case(expect->second) == "100-continue")
    if (!co_await reader_.connection().write("HTTP/1.1 100 Continue\r\n\r\n"))
      co_return ReadEnd::Closed;
  if (auto coding = headers.find("transfer-encoding"); coding != headers.end()) {
    // Who comes between may see another end of the body than we do.
    if (headers.contains("content-length"))
      co_return bad("Content-Length and Transfer-Encoding exclude each other");
    if (lower_case(coding->second) != "chunked")
      co_return bad("of transfer codings only chunked is understood");
    co_return co_await read_chunks();
  }
  auto length = headers.find("content-length");
  if (length == headers.end()) co_return ReadEnd::Request;
  std::size_t size = 0;
  const auto& text = length->second;
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (code != std::errc() || stop != text.data() + text.size())
    co_return bad("Content-Length is no number");
  if (size > kMaxBody) co_return too_large();
  auto body = co_await reader_.take(size);
  if (!body) co_return ReadEnd::Closed;
  request.body = std::move(*body);
  co_return ReadEnd::Request;
}

ReadEnd RequestReader::bad(std::string why) {
  problem = std::move(why);
  return ReadEnd::Bad;
}

ReadEnd RequestReader::too_large() {
  problem = fmt::format("Request entity too large: limit is {}", kMaxBody);
  return ReadEnd::TooLarge;
}

bool RequestReader::parse_head(std::string_view head) {
  auto end = head.find("\r\n");
  const auto words = split(head.substr(0, end), ' ');
  if (words.size() != 3 || !is_token(words[0]) || !words[1].starts_with('/') ||
      !is_printable(words[1], 0x21) || (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0")) {
    problem = "this is no HTTP/1.1 request";
    return false;
  }
  request.method = words[0];
  request.target = words[1];
  keep_alive = words[2] == "HTTP/1.1";
  while (end != head.npos) {
    head.remove_prefix(end + 2);
    end = head.find("\r\n");
    if (!parse_header(head.substr(0, end))) return false;
  }
  if (auto connection = request.headers.find("connection"); connection != request.headers.end())
    if (lower_case(connection->second).find("close") != std::string::npos) keep_alive = false;
  return true;
}

bool RequestReader::parse_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon)) ||
      !is_printable(line.substr(colon + 1), ' ')) {
    problem = "a header must be NAME: VALUE";
    return false;
  }
  const auto name = lower_case(line.substr(0, colon));
  const auto text = trim(line.substr(colon + 1));
  const auto [header, first] = request.headers.try_emplace(name, text);
  if (first) return true;
  if (name == "content-length" || name == "transfer-encoding" || name == "host") {
    problem = fmt::format("header {} is there twice", name);
    return false;
  }
  header->second.append(", ").append(text);
  return true;
}

Task<ReadEnd> RequestReader::read_chunks() {
  auto& buffer = reader_.buffer();
  std::size_t used = 0;  // of the buffer; what was read goes only when more is needed
  while (true) {
    const auto next = next_chunk(std::string_view(buffer).substr(used));
    if (next.what == Chunk::Bad) co_return bad("this is no chunked body");
    if (next.what == Chunk::Data) {
      if (next.data.empty() || next.data.size() > kMaxBody - request.body.size())
        co_return too_large();
      request.body += next.data;
    }
    used += next.used;
    if (next.what == Chunk::Data) continue;
    buffer.erase(0, std::exchange(used, 0));
    if (next.what == Chunk::Last) co_return co_await read_trailers();
    if (!co_await reader_.fill()) co_return ReadEnd::Closed;
  }
}

/// What comes behind the last chunk, up to an empty line. Nobody asks for it.
Task<ReadEnd> RequestReader::read_trailers() {
  auto& buffer = reader_.buffer();
  std::size_t size = 0;
  while (true) {
    const auto end = buffer.find("\r\n");
    if (size + (end == std::string::npos ? buffer.size() : end) > kMaxHead)
      co_return bad("the request's trailers are too long");
    if (end == std::string::npos) {
      if (!co_await reader_.fill()) co_return ReadEnd::Closed;
      continue;
    }
    const bool last = end == 0;
    buffer.erase(0, end + 2);
    size += end + 2;
    if (last) co_return ReadEnd::Request;
  }
}

}  // namespace manta::local
