#include "local/apiserver/http_session.h"

#include "base/log.h"
#include "base/text.h"
#include "fmt/format.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/http_text.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>

namespace manta::local {

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

namespace {

constexpr std::size_t kMaxHead = 64 << 10;
constexpr std::size_t kMaxBody = 16 << 20;
constexpr std::size_t kMaxChunkLine = 256;  // a chunk's length and what may follow it
/// Who has not sent a whole head, or the body it announced, by then is not waited for any longer.
constexpr Duration kHeadPatience = std::chrono::seconds{90};
constexpr Duration kBodyPatience = std::chrono::seconds{60};

std::string_view reason_phrase(int status) {
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Request Entity Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

std::string lower(std::string_view text) {
  std::string made(text);
  for (auto& c : made) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return made;
}

/// A warning header's text, quoted: one line, no control characters.
std::string quoted_warning(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return made + "\"";
}

std::string head_of(const HttpAnswer& answer, std::string_view framing, bool keep) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: no-cache, private\r\n{}",
                  answer.status, reason_phrase(answer.status), answer.content_type, framing);
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  for (const auto& warning : answer.warnings)
    head += fmt::format("Warning: 299 - {}\r\n", quoted_warning(warning));
  if (!keep) head += "Connection: close\r\n";
  return head + "\r\n";
}

enum class ReadEnd { Request, Closed, Bad, TooLarge };

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

/// Reads one request: its head first, so that nobody's body is kept who may not send one.
struct RequestReader {
  BufferedReader& reader;
  HttpRequest request = {};
  bool keep_alive = true;
  std::string problem = {};

  Task<ReadEnd> read_head(Loop& loop) {
    const ReadDeadline deadline(loop, reader.shared(), kHeadPatience);
    std::size_t end;
    while ((end = reader.buffer().find("\r\n\r\n")) == std::string::npos) {
      if (reader.buffer().size() > kMaxHead) {
        problem = "the request's headers are too long";
        co_return ReadEnd::Bad;
      }
      if (!co_await reader.fill()) co_return ReadEnd::Closed;
    }
    const std::string head = reader.buffer().substr(0, end);
    reader.buffer().erase(0, end + 4);
    co_return parse_head(head) ? ReadEnd::Request : ReadEnd::Bad;
  }

  bool has_body() const {
    return request.headers.contains("transfer-encoding") ||
           request.headers.contains("content-length");
  }

  Task<ReadEnd> read_body(Loop& loop) {
    const ReadDeadline deadline(loop, reader.shared(), kBodyPatience);
    const auto& headers = request.headers;
    if (auto expect = headers.find("expect");
        expect != headers.end() && lower(expect->second) == "100-continue")
      if (!co_await reader.connection().write("HTTP/1.1 100 Continue\r\n\r\n"))
        co_return ReadEnd::Closed;
    if (auto coding = headers.find("transfer-encoding");
        coding != headers.end() && lower(coding->second) == "chunked")
      co_return co_await read_chunks();
    auto length = headers.find("content-length");
    if (length == headers.end()) co_return ReadEnd::Request;
    std::size_t size = 0;
    const auto& text = length->second;
    auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (code != std::errc() || stop != text.data() + text.size())
      co_return bad("Content-Length is no number");
    if (size > kMaxBody) co_return too_large();
    auto body = co_await reader.take(size);
    if (!body) co_return ReadEnd::Closed;
    request.body = std::move(*body);
    co_return ReadEnd::Request;
  }

 private:
  ReadEnd bad(std::string why) {
    problem = std::move(why);
    return ReadEnd::Bad;
  }
  ReadEnd too_large() {
    problem = fmt::format("Request entity too large: limit is {}", kMaxBody);
    return ReadEnd::TooLarge;
  }

  bool parse_head(const std::string& head) {
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
      auto& value = request.headers[lower(line.substr(0, colon))];
      const auto text = trim(line.substr(colon + 1));
      value += value.empty() ? std::string(text) : ", " + std::string(text);
    }
    if (auto connection = request.headers.find("connection"); connection != request.headers.end())
      if (lower(connection->second).find("close") != std::string::npos) keep_alive = false;
    return true;
  }

  Task<ReadEnd> read_chunks() {
    while (true) {
      std::size_t end;
      while ((end = reader.buffer().find("\r\n")) == std::string::npos) {
        if (reader.buffer().size() > kMaxChunkLine) co_return bad("a chunk's length is no number");
        if (!co_await reader.fill()) co_return ReadEnd::Closed;
      }
      std::size_t size = 0;
      const std::string line = reader.buffer().substr(0, end);
      auto [stop, code] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
      if (code != std::errc()) co_return bad("a chunk's length is no number");
      reader.buffer().erase(0, end + 2);
      if (size > kMaxBody - request.body.size()) co_return too_large();
      auto chunk = co_await reader.take(size + 2);
      if (!chunk) co_return ReadEnd::Closed;
      if (size == 0) co_return ReadEnd::Request;
      request.body.append(*chunk, 0, size);
    }
  }
};

/// Requests a stop when the client goes away while nothing is read from it otherwise.
task_detail::Detached watch_for_end(std::shared_ptr<BufferedReader> reader, std::stop_source gone) {
  while (!gone.stop_requested() && reader->buffer().size() < kMaxHead)
    if (!co_await reader->fill()) break;
  gone.request_stop();
}

std::string chunk(std::string_view data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

Task<void> serve_watch(const SessionContext& context, std::shared_ptr<BufferedReader> reader,
                       HttpAnswer answer) {
  auto stream = std::move(*answer.watch);
  auto& router = context.api.router();
  auto watcher = stream.watcher;
  std::stop_source gone;
  watch_for_end(reader, gone);
  std::weak_ptr<Watcher> weak = watcher;
  auto end = [weak] {
    if (auto live = weak.lock()) live->end();
  };
  std::stop_callback on_gone(gone.get_token(), end);
  const auto timer = context.loop.after(stream.timeout, end);
  bool open =
      co_await reader->connection().write(head_of(answer, "Transfer-Encoding: chunked\r\n", true));
  while (open) {
    auto item = co_await watcher->next();
    if (!item) break;
    // What waits goes out in one write.
    std::string batch = router.encode_event(stream, *item);
    while (watcher->queued() > 0 && batch.size() < (64 << 10)) {
      auto more = co_await watcher->next();
      if (!more) break;
      batch += router.encode_event(stream, *more);
    }
    open = co_await reader->connection().write(chunk(batch));
  }
  context.loop.cancel(timer);
  if (open && watcher->error())
    open = co_await reader->connection().write(chunk(router.encode_error_event(*watcher->error())));
  if (open) co_await reader->connection().write("0\r\n\r\n");
}

Task<void> serve_log(const SessionContext& context, std::shared_ptr<BufferedReader> reader,
                     PodStream stream) {
  std::stop_source gone;
  watch_for_end(reader, gone);
  HttpAnswer answer;
  answer.content_type = "text/plain";
  bool started = false;
  auto* connection = &reader->connection();
  auto sink = [&](std::string data) -> Task<bool> {
    std::string out;
    if (!std::exchange(started, true))
      out = head_of(answer, "Transfer-Encoding: chunked\r\n", false);
    if (!data.empty()) out += chunk(data);
    co_return co_await connection->write(std::move(out));
  };
  auto result =
      co_await context.api.pod_backend()->logs(stream.target, stream.log, sink, gone.get_token());
  if (!result && !started) {
    auto failure = error_answer(result.error());
    co_await connection->write(
        head_of(failure, fmt::format("Content-Length: {}\r\n", failure.body.size()), false) +
        failure.body);
    co_return;
  }
  if (!started) co_await sink("");
  co_await connection->write("0\r\n\r\n");
}

/// Passes one request on and copies the answer's bytes until the other side closes.
Task<void> serve_proxy(const SessionContext& context, std::shared_ptr<BufferedReader> reader,
                       const HttpRequest& request, ProxyTarget target) {
  auto upstream = co_await connect_to(context.loop, target.host, target.port);
  if (!upstream) {
    auto failure = error_answer(
        {.code = ErrorCode::Unavailable,
         .message = fmt::format("error trying to reach service: {}", upstream.error().message),
         .http_status = 503});
    co_await reader->connection().write(
        head_of(failure, fmt::format("Content-Length: {}\r\n", failure.body.size()), false) +
        failure.body);
    co_return;
  }
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\n",
                                 request.method, target.path, target.host, target.port);
  for (const auto& [name, value] : request.headers)
    if (name != "host" && name != "connection" && name != "authorization" &&
        name != "content-length" && name != "transfer-encoding" && name != "expect")
      head += fmt::format("{}: {}\r\n", name, value);
  // The Ray token travels beside the API server's own. spec/07
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT")
    head += fmt::format("Content-Length: {}\r\n", request.body.size());
  auto peer = *upstream;
  std::stop_source gone;
  watch_for_end(reader, gone);
  std::stop_callback on_gone(gone.get_token(), [peer] { peer->close(); });
  if (!co_await peer->write(head + "\r\n" + request.body)) co_return;
  while (auto data = co_await peer->read_some())
    if (!co_await reader->connection().write(std::move(*data))) break;
  peer->close();
}

bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Who asks, or nothing when it may not.
std::optional<Caller> authenticate(const SessionContext& context, const HttpRequest& request) {
  Caller caller;
  if (auto agent = request.headers.find("user-agent"); agent != request.headers.end())
    caller.user_agent = agent->second;
  if (context.token.empty()) return caller;
  auto header = request.headers.find("authorization");
  if (header == request.headers.end()) return std::nullopt;
  std::string_view text = header->second;
  if (text.size() < 7 || lower(text.substr(0, 7)) != "bearer ") return std::nullopt;
  text = trim(text.substr(7));
  if (same_text(text, context.token)) return caller;
  Caller known;
  if (!context.api.token_is_valid(text, &known)) return std::nullopt;
  known.user_agent = caller.user_agent;
  return known;
}

bool is_public(std::string_view target) {
  const auto path = target.substr(0, target.find('?'));
  return path == "/healthz" || path == "/livez" || path == "/readyz" || path == "/version";
}

}  // namespace

Task<void> serve_http(std::shared_ptr<const SessionContext> context, ConnectionPtr connection) {
  auto reader = std::make_shared<BufferedReader>(connection);
  while (true) {
    RequestReader incoming{*reader};
    auto end = co_await incoming.read_head(context->loop);
    HttpAnswer answer;
    auto& request = incoming.request;
    std::optional<Caller> caller;
    if (end == ReadEnd::Request) caller = authenticate(*context, request);
    const bool allowed = caller || is_public(request.target);
    if (end == ReadEnd::Request && caller) end = co_await incoming.read_body(context->loop);
    if (end == ReadEnd::Closed) break;
    // A body that was not read to its end would be taken for the next request.
    if (end != ReadEnd::Request || (!caller && incoming.has_body())) incoming.keep_alive = false;
    if (end == ReadEnd::TooLarge) {
      answer = error_answer(
          {.code = ErrorCode::TooLarge, .message = incoming.problem, .http_status = 413});
    } else if (end == ReadEnd::Bad) {
      answer = error_answer(bad_request(incoming.problem));
    } else if (allowed) {
      if (caller) request.caller = *caller;
      answer = context->api.router().handle(request);
    } else {
      answer = error_answer(
          {.code = ErrorCode::Unauthorized, .message = "Unauthorized", .http_status = 401});
    }
    if (answer.watch) {
      co_await serve_watch(*context, reader, std::move(answer));
      break;
    }
    if (answer.pod_stream) {
      auto stream = std::move(*answer.pod_stream);
      if (stream.kind == PodStreamKind::Log)
        co_await serve_log(*context, reader, std::move(stream));
      else
        co_await serve_websocket(context, reader, std::move(request), std::move(stream));
      break;
    }
    if (answer.proxy) {
      co_await serve_proxy(*context, reader, request, std::move(*answer.proxy));
      break;
    }
    const bool keep = incoming.keep_alive;
    auto out = head_of(answer, fmt::format("Content-Length: {}\r\n", answer.body.size()), keep);
    if (request.method != "HEAD") out += answer.body;
    if (!co_await connection->write(std::move(out)) || !keep) break;
  }
  connection->close();
}

}  // namespace manta::local
