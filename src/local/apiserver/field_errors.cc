#include "local/apiserver/field_errors.h"

#include "fmt/format.h"

#include <set>

namespace manta::local {

std::string go_quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        quoted += "\\\"";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\t':
        quoted += "\\t";
        break;
      case '\r':
        quoted += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          quoted += c;
    }
  }
  return quoted + "\"";
}

std::string go_value(const Json& value) {
  if (value.is_string()) return go_quote(value.get_string());
  return dump_json(value);
}

std::string_view go_kind(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::object:
      return "object";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::bool_:
      return "bool";
    case boost::json::kind::null:
      return "null";
    default:
      return "number";
  }
}

void FieldErrors::add(std::string path, std::string reason, std::string message) {
  causes_.push_back({std::move(path), std::move(reason), std::move(message)});
}
void FieldErrors::required(std::string path, std::string_view detail) {
  add(std::move(path), "FieldValueRequired",
      detail.empty() ? "Required value" : fmt::format("Required value: {}", detail));
}
void FieldErrors::invalid(std::string path, const Json& value, std::string_view detail) {
  add(std::move(path), "FieldValueInvalid",
      fmt::format("Invalid value: {}{}{}", go_value(value), detail.empty() ? "" : ": ", detail));
}
void FieldErrors::type_invalid(std::string path, const Json& value, std::string_view detail) {
  add(std::move(path), "FieldValueTypeInvalid",
      fmt::format("Invalid value: {}: {}", go_value(value), detail));
}
void FieldErrors::not_supported(std::string path, const Json& value,
                                std::vector<std::string> supported) {
  std::string list;
  for (const auto& choice : supported) list += (list.empty() ? "" : ", ") + go_quote(choice);
  add(std::move(path), "FieldValueNotSupported",
      fmt::format("Unsupported value: {}: supported values: {}", go_value(value), list));
}
void FieldErrors::duplicate(std::string path, const Json& value) {
  add(std::move(path), "FieldValueDuplicate", fmt::format("Duplicate value: {}", go_value(value)));
}
void FieldErrors::forbidden(std::string path, std::string_view detail) {
  add(std::move(path), "FieldValueForbidden", fmt::format("Forbidden: {}", detail));
}
void FieldErrors::not_found(std::string path, const Json& value) {
  add(std::move(path), "FieldValueNotFound", fmt::format("Not found: {}", go_value(value)));
}
void FieldErrors::too_long(std::string path, std::int64_t limit) {
  add(std::move(path), "FieldValueTooLong",
      fmt::format("Too long: may not be more than {} bytes", limit));
}
void FieldErrors::too_many(std::string path, std::int64_t actual, std::int64_t limit) {
  add(std::move(path), "FieldValueTooMany",
      fmt::format("Too many: {}: must have at most {} items", actual, limit));
}

Error FieldErrors::to_error(const kube::Resource& resource, std::string_view name) const {
  std::set<std::string> texts;  // each is said once
  std::string joined;
  for (const auto& cause : causes_) {
    const auto [text, added] = texts.insert(fmt::format("{}: {}", cause.field, cause.message));
    if (added) joined.append(joined.empty() ? "" : ", ").append(*text);
  }
  if (texts.size() > 1) joined = "[" + joined + "]";
  return Error{.code = ErrorCode::Invalid,
               .message = fmt::format("{} {} is invalid: {}", qualified_kind(resource),
                                      go_quote(name), joined),
               .causes = causes_,
               .http_status = 422};
}

std::string qualified_resource(const kube::Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}
std::string qualified_kind(const kube::Resource& resource) {
  return resource.group.empty() ? resource.kind : resource.kind + "." + resource.group;
}

Error not_found(const kube::Resource& resource, std::string_view name) {
  return {.code = ErrorCode::NotFound,
          .message = fmt::format("{} {} not found", qualified_resource(resource), go_quote(name)),
          .http_status = 404};
}
Error already_exists(const kube::Resource& resource, std::string_view name) {
  return {
      .code = ErrorCode::AlreadyExists,
      .message = fmt::format("{} {} already exists", qualified_resource(resource), go_quote(name)),
      .http_status = 409};
}
Error conflict(const kube::Resource& resource, std::string_view name, std::string_view why) {
  return {.code = ErrorCode::Conflict,
          .message = fmt::format("Operation cannot be fulfilled on {} {}: {}",
                                 qualified_resource(resource), go_quote(name), why),
          .http_status = 409};
}
Error object_modified(const kube::Resource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}
Error forbidden(const kube::Resource& resource, std::string_view name, std::string_view why) {
  return {.code = ErrorCode::Forbidden,
          .message = fmt::format("{} {} is forbidden: {}", qualified_resource(resource),
                                 go_quote(name), why),
          .http_status = 403};
}
Error bad_request(std::string message) {
  return {.code = ErrorCode::BadRequest, .message = std::move(message), .http_status = 400};
}

}  // namespace manta::local
