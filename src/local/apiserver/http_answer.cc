#include "local/apiserver/http_answer.h"

#include "kube/api.h"

namespace manta::local {
namespace {

std::int64_t whole_seconds(Duration span) {
  return std::chrono::duration_cast<std::chrono::seconds>(span).count();
}

/// `pods "x" not found`: whom the message is about.
void name_object(std::string_view message, JsonObject& details) {
  constexpr std::string_view kConflict = "Operation cannot be fulfilled on ";
  if (message.starts_with(kConflict)) message.remove_prefix(kConflict.size());
  const auto space = message.find(' ');
  if (space == message.npos || !message.substr(space + 1).starts_with('"')) return;
  const auto quoted = message.substr(space + 2);
  const auto name = quoted.substr(0, quoted.find('"'));
  const auto kind = message.substr(0, space);
  const auto dot = kind.find('.');
  if (!name.empty()) details["name"] = name;
  if (dot != kind.npos) details["group"] = kind.substr(dot + 1);
  details["kind"] = kind.substr(0, dot);
}

bool names_object(ErrorCode code) {
  return code == ErrorCode::NotFound || code == ErrorCode::AlreadyExists ||
         code == ErrorCode::Conflict || code == ErrorCode::Forbidden || code == ErrorCode::Invalid;
}

JsonArray causes_of(const Error& error) {
  JsonArray causes;
  for (const auto& cause : error.causes) {
    JsonObject one{{"reason", cause.reason}, {"message", cause.message}};
    if (!cause.field.empty()) one["field"] = cause.field;
    causes.push_back(std::move(one));
  }
  return causes;
}

}  // namespace

HttpAnswer json_answer(const Json& body, int status) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = dump_json(body) + "\n";
  return answer;
}

HttpAnswer text_answer(std::string text, int status) {
  HttpAnswer answer;
  answer.status = status;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = std::move(text);
  return answer;
}

HttpAnswer page_not_found() { return text_answer("404 page not found\n", 404); }

Json status_of(const Error& error) {
  JsonObject details;
  if (names_object(error.code)) name_object(error.message, details);
  if (!error.causes.empty()) details["causes"] = causes_of(error);
  if (error.retry_after) details["retryAfterSeconds"] = whole_seconds(*error.retry_after);
  const int code = error.http_status ? error.http_status : kube::http_status_of(error.code);
  JsonObject status{{"kind", "Status"},
                    {"apiVersion", "v1"},
                    {"metadata", JsonObject{}},
                    {"status", "Failure"},
                    {"message", error.message}};
  if (error.code != ErrorCode::Internal)
    status["reason"] = kube::status_reason_of(error.code);
  else
    status["reason"] = "InternalError";
  // The answer to a path that is no resource has empty details, for whatever reason.
  const bool empty_details =
      error.code == ErrorCode::Invalid || error.message.starts_with("the server could not find");
  if (empty_details || !details.empty()) status["details"] = std::move(details);
  status["code"] = code;
  return status;
}

HttpAnswer error_answer(const Error& error) {
  const auto status = status_of(error);
  auto answer = json_answer(status, static_cast<int>(int_at(status, {"code"})));
  if (error.retry_after)
    answer.headers["Retry-After"] = std::to_string(whole_seconds(*error.retry_after));
  return answer;
}

}  // namespace manta::local
