#include "local/apiserver/http_session.h"

#include "base/text.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/http_streams.h"
#include "local/apiserver/http_text.h"

#include <openssl/crypto.h>

namespace manta::local {
namespace {

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
  if (text.size() < 7 || lower_case(text.substr(0, 7)) != "bearer ") return std::nullopt;
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
    auto out = message_of(answer, keep, request.method != "HEAD");
    if (!co_await connection->write(std::move(out)) || !keep) break;
  }
  connection->close();
}

}  // namespace manta::local
