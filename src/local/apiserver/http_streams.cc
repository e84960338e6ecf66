#include "local/apiserver/http_streams.h"

#include "local/apiserver/http_text.h"

#include <fmt/format.h>

#include <utility>

namespace manta::local {
namespace {

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

/// A warning header's text, quoted: one line, no control characters.
std::string quoted_warning(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return made + "\"";
}

/// All warnings of an answer together; a client that reads a hundred headers at most would get
/// none.
constexpr std::size_t kMaxWarnings = 4096;

/// Requests a stop when the client goes away while nothing is read from it otherwise.
task_detail::Detached watch_for_end(std::shared_ptr<BufferedReader> reader, std::stop_source gone) {
  while (!gone.stop_requested() && reader->buffer().size() < kMaxHead)
    if (!co_await reader->fill()) break;
  gone.request_stop();
}

std::string chunk(std::string_view data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

}  // namespace

std::string head_of(const HttpAnswer& answer, std::string_view framing, bool keep) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: no-cache, private\r\n{}",
                  answer.status, reason_phrase(answer.status), answer.content_type, framing);
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  std::size_t told = 0;
  for (const auto& warning : answer.warnings) {
    if ((told += warning.size()) > kMaxWarnings) break;
    head += fmt::format("Warning: 299 - {}\r\n", quoted_warning(warning));
  }
  if (!keep) head += "Connection: close\r\n";
  return head + "\r\n";
}

std::string message_of(const HttpAnswer& answer, bool keep, bool with_body) {
  auto out = head_of(answer, fmt::format("Content-Length: {}\r\n", answer.body.size()), keep);
  if (with_body) out += answer.body;
  return out;
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
    co_await connection->write(message_of(failure, false));
    co_return;
  }
  if (!started) co_await sink("");
  co_await connection->write("0\r\n\r\n");
}

Task<void> serve_proxy(const SessionContext& context, std::shared_ptr<BufferedReader> reader,
                       const HttpRequest& request, ProxyTarget target) {
  auto upstream = co_await connect_to(context.loop, target.host, target.port);
  if (!upstream) {
    auto failure = error_answer(
        {.code = ErrorCode::Unavailable,
         .message = fmt::format("error trying to reach service: {}", upstream.error().message),
         .http_status = 503});
    co_await reader->connection().write(message_of(failure, false));
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

}  // namespace manta::local
