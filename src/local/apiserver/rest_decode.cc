// From a request's body to the object that would be stored: its type, its form, unknown fields.
#include "fmt/format.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/decode.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/rest.h"

#include <algorithm>

namespace manta::local {
namespace {

/// "Pod in version "v1" cannot be handled as a Pod: …"
Error cannot_handle(const Kind& kind, std::string_view why) {
  return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}",
                                 kind.resource.kind, kind.resource.version, kind.resource.kind,
                                 why));
}

Error unrecognized(const Kind& kind, std::string_view why) {
  return bad_request(fmt::format("the object provided is unrecognized (must be of type {}): {}",
                                 kind.resource.kind, why));
}

/// The kind of the body is not the collection's.
Error wrong_kind(const Kind& kind, std::string_view name, const Json& body) {
  if (kind.builtin())
    return bad_request(fmt::format(
        "{} in version \"{}\" cannot be handled as a {}: converting (v1.{}) to (core.{}): unknown "
        "conversion",
        name, kind.resource.version, kind.resource.kind, name, kind.resource.kind));
  FieldErrors errors;
  errors.invalid("kind", Json(name), fmt::format("must be {}", kind.resource.kind));
  auto named = kind.resource;
  named.kind = std::string(name);
  return errors.to_error(named, string_at(body, {"metadata", "name"}));
}

/// A custom object: its metadata is Go's, the rest its schema's.
Result<Json> decode_custom(Json object, const Kind& kind, const Schema& metadata_type,
                           std::vector<std::string>& unknown) {
  if (auto* metadata = object.get_object().if_contains("metadata");
      metadata && !metadata->is_null()) {
    std::vector<std::string> dropped;
    auto decoded = decode_builtin(*metadata, metadata_type, dropped);
    if (!decoded)
      return failed(
          bad_request(fmt::format("unable to decode metadata: {}", decoded.error().message)));
    for (auto& path : dropped) unknown.push_back("metadata." + path);
    *metadata = std::move(*decoded);
  }
  if (!kind.schema) return object;
  prune(object, *kind.schema, unknown);
  std::ranges::sort(unknown);
  apply_defaults(object, *kind.schema);
  return object;
}

}  // namespace

Result<void> Rest::check_type(const Kind& kind, const Json& body) {
  if (!body.is_object())
    return failed(unrecognized(
        kind, fmt::format("couldn't get version/kind; json parse error: json: cannot unmarshal {} "
                          "into Go value of type struct {{ APIVersion string "
                          "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                          "\"json:\\\"kind,omitempty\\\"\" }}",
                          go_kind(body))));
  const auto wanted = kind.resource.api_version();
  const auto version = string_at(body, {"apiVersion"});
  const auto name = string_at(body, {"kind"});
  if (!kind.builtin())
    for (const auto& [field, label] : {std::pair{name, "Kind"}, std::pair{version, "apiVersion"}})
      if (field.empty())
        return failed(unrecognized(kind, fmt::format("Object '{}' is missing in '{}' ({})", label,
                                                     dump_json(body), dump_json(body))));
  if (!version.empty() && version != wanted)
    return failed(bad_request(
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    version, wanted)));
  if (!name.empty() && name != kind.resource.kind) return failed(wrong_kind(kind, name, body));
  return {};
}

Result<Json> Rest::decode(const Kind& kind, const Json& body, const kube::Request& request,
                          Context& context) {
  std::vector<std::string> unknown;
  Json object;
  if (kind.builtin()) {
    auto decoded = decode_builtin(body, *kind.schema, unknown);
    if (!decoded) return failed(cannot_handle(kind, decoded.error().message));
    object = std::move(*decoded);
  } else {
    if (!body.is_object()) return failed(bad_request("the object is not a JSON object"));
    auto decoded = decode_custom(body, kind, *types().find("meta.v1.ObjectMeta"), unknown);
    if (!decoded) return decoded;
    object = std::move(*decoded);
  }
  auto& members = object.get_object();
  members["apiVersion"] = kind.resource.api_version();
  members["kind"] = kind.resource.kind;
  object_made_at(object, {"metadata"});
  if (unknown.empty() || request.field_validation == "Ignore") return object;
  for (auto& path : unknown) path = fmt::format("unknown field {}", go_quote(path));
  if (request.field_validation == "Strict")
    return failed(
        cannot_handle(kind, fmt::format("strict decoding error: {}", fmt::join(unknown, ", "))));
  context.warnings.insert(context.warnings.end(), unknown.begin(), unknown.end());
  return object;
}

}  // namespace manta::local
