#include "kube/api.h"

#include <boost/json/string.hpp>
#include <fmt/format.h>

#include <utility>

namespace manta::kube {
namespace {

Result<Json> body_of(Result<Response> response) {
  if (!response) return failed(std::move(response.error()));
  return std::move(response->body);
}

struct Reason {
  ErrorCode code;
  std::string_view name;
  int http_status;
};

// The first row of a code is how we write it; the others are read only.
constexpr Reason kReasons[] = {
    {ErrorCode::BadRequest, "BadRequest", 400},
    {ErrorCode::Unauthorized, "Unauthorized", 401},
    {ErrorCode::Forbidden, "Forbidden", 403},
    {ErrorCode::NotFound, "NotFound", 404},
    {ErrorCode::MethodNotAllowed, "MethodNotAllowed", 405},
    {ErrorCode::NotAcceptable, "NotAcceptable", 406},
    {ErrorCode::Conflict, "Conflict", 409},
    {ErrorCode::AlreadyExists, "AlreadyExists", 409},
    {ErrorCode::Expired, "Expired", 410},
    {ErrorCode::Expired, "Gone", 410},
    {ErrorCode::TooLarge, "RequestEntityTooLarge", 413},
    {ErrorCode::UnsupportedMedia, "UnsupportedMediaType", 415},
    {ErrorCode::Invalid, "Invalid", 422},
    {ErrorCode::TooManyRequests, "TooManyRequests", 429},
    {ErrorCode::Internal, "InternalError", 500},
    {ErrorCode::Internal, "StoreReadError", 500},
    {ErrorCode::Unavailable, "ServiceUnavailable", 503},
    {ErrorCode::Timeout, "Timeout", 504},
    {ErrorCode::Timeout, "ServerTimeout", 500},
};

ErrorCode code_of_http(int status) {
  for (const auto& row : kReasons)
    if (row.http_status == status) return row.code;
  if (status == 502) return ErrorCode::Unavailable;  // a proxy that did not reach the server
  if (status == 408) return ErrorCode::Timeout;
  return status >= 400 && status < 500 ? ErrorCode::BadRequest : ErrorCode::Internal;
}

ErrorCode code_of(int status, std::string_view reason) {
  // The server gives a reason of "Timeout" to 504 and "ServerTimeout" to 500: both mean that a
  // write may have been committed.
  for (const auto& row : kReasons)
    if (row.name == reason) return row.code;
  return code_of_http(status);
}

}  // namespace

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::Get:
      return "get";
    case Verb::List:
      return "list";
    case Verb::Create:
      return "create";
    case Verb::Update:
      return "update";
    case Verb::Patch:
      return "patch";
    case Verb::Delete:
      return "delete";
    case Verb::DeleteCollection:
      return "deletecollection";
  }
  std::unreachable();
}

Task<Result<Json>> Api::get(Resource resource, ObjectKey key) {
  Request request;
  request.resource = std::move(resource);
  request.namespace_ = std::move(key.namespace_);
  request.name = std::move(key.name);
  co_return body_of(co_await call(std::move(request)));
}

Task<Result<Json>> Api::list(Resource resource, std::string namespace_,
                             std::string label_selector) {
  Request request;
  request.verb = Verb::List;
  request.resource = std::move(resource);
  request.namespace_ = std::move(namespace_);
  request.label_selector = std::move(label_selector);
  co_return body_of(co_await call(std::move(request)));
}

Task<Result<Json>> Api::create(Resource resource, Json object) {
  Request request;
  request.verb = Verb::Create;
  request.resource = std::move(resource);
  request.namespace_ = key_of(object).namespace_;
  request.body = std::move(object);
  co_return body_of(co_await call(std::move(request)));
}

Task<Result<Json>> Api::update(Resource resource, Json object, std::string subresource) {
  Request request;
  request.verb = Verb::Update;
  request.resource = std::move(resource);
  auto key = key_of(object);
  request.namespace_ = std::move(key.namespace_);
  request.name = std::move(key.name);
  request.subresource = std::move(subresource);
  request.body = std::move(object);
  co_return body_of(co_await call(std::move(request)));
}

Task<Result<Json>> Api::patch(Resource resource, ObjectKey key, PatchType type, Json patch,
                              std::string subresource) {
  Request request;
  request.verb = Verb::Patch;
  request.resource = std::move(resource);
  request.namespace_ = std::move(key.namespace_);
  request.name = std::move(key.name);
  request.subresource = std::move(subresource);
  request.patch_type = type;
  request.body = std::move(patch);
  co_return body_of(co_await call(std::move(request)));
}

Task<Result<Json>> Api::remove(Resource resource, ObjectKey key, std::string uid) {
  Request request;
  request.verb = Verb::Delete;
  request.resource = std::move(resource);
  request.namespace_ = std::move(key.namespace_);
  request.name = std::move(key.name);
  request.precondition_uid = std::move(uid);
  co_return body_of(co_await call(std::move(request)));
}

Error error_from_status(int http_status, const Json& status) {
  Error error;
  if (http_status == 0) http_status = static_cast<int>(int_at(status, {"code"}));
  error.http_status = http_status;
  error.code = code_of(http_status, string_at(status, {"reason"}));
  error.message = string_at(status, {"message"});
  if (error.message.empty())
    error.message = fmt::format("the server answered HTTP {}", http_status);
  for (const auto& cause : array_at(status, {"details", "causes"}))
    error.causes.push_back({.field = std::string(string_at(cause, {"field"})),
                            .reason = std::string(string_at(cause, {"reason"})),
                            .message = std::string(string_at(cause, {"message"}))});
  if (const auto seconds = int_at(status, {"details", "retryAfterSeconds"}); seconds > 0)
    error.retry_after = std::chrono::seconds(std::min<std::int64_t>(seconds, 86'400));
  return error;
}

Json status_from_error(const Error& error, const Resource& resource, std::string_view name) {
  JsonObject details;
  if (!name.empty()) details["name"] = name;
  if (!resource.group.empty()) details["group"] = resource.group;
  // Invalid names the kind, everything else the resource. Source: apimachinery's api/errors.
  const auto& kind = error.code == ErrorCode::Invalid ? resource.kind : resource.plural;
  if (!kind.empty()) details["kind"] = kind;
  if (!error.causes.empty()) {
    JsonArray causes;
    for (const auto& cause : error.causes) {
      JsonObject item;
      if (!cause.reason.empty()) item["reason"] = cause.reason;
      if (!cause.message.empty()) item["message"] = cause.message;
      if (!cause.field.empty()) item["field"] = cause.field;
      causes.push_back(std::move(item));
    }
    details["causes"] = std::move(causes);
  }
  if (error.retry_after)
    details["retryAfterSeconds"] =
        std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count();

  JsonObject status;
  status["kind"] = "Status";
  status["apiVersion"] = "v1";
  status["metadata"] = JsonObject();
  status["status"] = "Failure";
  status["message"] = error.message;
  status["reason"] = status_reason_of(error.code);
  if (!details.empty()) status["details"] = std::move(details);
  status["code"] = error.http_status != 0 ? error.http_status : http_status_of(error.code);
  return status;
}

int http_status_of(ErrorCode code) {
  for (const auto& row : kReasons)
    if (row.code == code) return row.http_status;
  return 500;  // Cancelled never leaves the process
}

std::string_view status_reason_of(ErrorCode code) {
  for (const auto& row : kReasons)
    if (row.code == code) return row.name;
  return "InternalError";
}

}  // namespace manta::kube
