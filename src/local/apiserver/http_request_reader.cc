#include "local/apiserver/http_request_reader.h"

#include "base/text.h"

#include <fmt/format.h>

#include <charconv>

namespace manta::local {
namespace {

constexpr std::size_t kMaxBody = 16 << 20;
constexpr std::size_t kMaxChunkLine = 256;  // a chunk's length and what may follow it
/// Who has not sent a whole head, or the body it announced, by then is not waited for any longer.
constexpr Duration kHeadPatience = std::chrono::seconds{90};
constexpr Duration kBodyPatience = std::chrono::seconds{60};

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
  std::size_t end;
  while ((end = reader_.buffer().find("\r\n\r\n")) == std::string::npos) {
    if (reader_.buffer().size() > kMaxHead) {
      problem = "the request's headers are too long";
      co_return ReadEnd::Bad;
    }
    if (!co_await reader_.fill()) co_return ReadEnd::Closed;
  }
  const std::string head = reader_.buffer().substr(0, end);
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
  if (auto coding = headers.find("transfer-encoding");
      coding != headers.end() && lower_case(coding->second) == "chunked")
    co_return co_await read_chunks();
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

bool RequestReader::parse_head(const std::string& head) {
  const auto lines = split(head, '\n');
  auto first = std::string_view(lines.front());
  if (first.ends_with('\r')) first.remove_suffix(1);
  const auto words = split(first, ' ');
  if (words.size() != 3 || !words[2].starts_with("HTTP/1.")) {
    problem = "this is no HTTP/1.1 request";
    return false;
  }
  request.method = words[0];
  request.target = words[1];
  keep_alive = words[2] == "HTTP/1.1";
  for (std::size_t i = 1; i < lines.size(); ++i) {
    auto line = std::string_view(lines[i]);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    auto& value = request.headers[lower_case(line.substr(0, colon))];
    const auto text = trim(line.substr(colon + 1));
    value += value.empty() ? std::string(text) : ", " + std::string(text);
  }
  if (auto connection = request.headers.find("connection"); connection != request.headers.end())
    if (lower_case(connection->second).find("close") != std::string::npos) keep_alive = false;
  return true;
}

Task<ReadEnd> RequestReader::read_chunks() {
  while (true) {
    std::size_t end;
    while ((end = reader_.buffer().find("\r\n")) == std::string::npos) {
      if (reader_.buffer().size() > kMaxChunkLine) co_return bad("a chunk's length is no number");
      if (!co_await reader_.fill()) co_return ReadEnd::Closed;
    }
    std::size_t size = 0;
    const std::string line = reader_.buffer().substr(0, end);
    auto [stop, code] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
    if (code != std::errc()) co_return bad("a chunk's length is no number");
    reader_.buffer().erase(0, end + 2);
    if (size > kMaxBody - request.body.size()) co_return too_large();
    auto chunk = co_await reader_.take(size + 2);
    if (!chunk) co_return ReadEnd::Closed;
    if (size == 0) co_return ReadEnd::Request;
    request.body.append(*chunk, 0, size);
  }
}

}  // namespace manta::local
