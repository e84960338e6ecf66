#include "local/apiserver/http_request.h"

#include "base/text.h"
#include "base/yaml.h"
#include "fmt/format.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/protobuf.h"

#include <charconv>

namespace manta::local {

std::string header(const HttpRequest& http, std::string_view name) {
  auto found = http.headers.find(std::string(name));
  return found == http.headers.end() ? std::string() : found->second;
}

Accept read_accept(const std::string& text) {
  Accept accept;
  if (text.empty()) return accept;
  accept.json = false;
  for (const auto& part : split(text, ',')) {
    const auto lower = trim(part);
    if (lower.starts_with("application/json")) {
      if (!accept.json) {  // the first that we can do wins
        accept.table = lower.find("as=Table") != lower.npos;
        accept.metadata = lower.find("as=PartialObjectMetadata") != lower.npos;
        accept.discovery = lower.find("as=APIGroupDiscoveryList") != lower.npos &&
                           lower.find("v=v2;") != lower.npos;
        // v2beta1 is not offered; look further down the list.
        if (lower.find("as=APIGroupDiscoveryList") != lower.npos && !accept.discovery) continue;
      }
      accept.json = true;
    } else if (lower.starts_with("*/*") || lower.starts_with("application/*") ||
               lower.starts_with("application/yaml") || lower.starts_with("text/")) {
      accept.json = true;
    }
  }
  return accept;
}

std::string media_type(std::string_view text) {
  return std::string(trim(text.substr(0, text.find(';'))));
}

Error unsupported_media(std::string_view kinds) {
  return {.code = ErrorCode::UnsupportedMedia,
          .message = fmt::format(
              "the body of the request was in an unknown format - accepted media types include: {}",
              kinds),
          .http_status = 415};
}

std::optional<kube::PatchType> patch_type(std::string_view media) {
  if (media == "application/json-patch+json") return kube::PatchType::Json;
  if (media == "application/merge-patch+json") return kube::PatchType::Merge;
  if (media == "application/strategic-merge-patch+json") return kube::PatchType::Strategic;
  if (media == "application/apply-patch+yaml") return kube::PatchType::Apply;
  return std::nullopt;
}

Result<Json> read_body(const HttpRequest& http, BuiltinTypes& types) {
  const auto type = media_type(header(http, "content-type"));
  if (http.body.starts_with(kProtobufMagic)) return decode_protobuf(http.body, types);
  if (type.find("protobuf") != type.npos || type.find("cbor") != type.npos)
    return failed(unsupported_media(
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"));
  if (http.body.empty()) return Json();
  if (type == "application/yaml" || type == "application/apply-patch+yaml") {
    auto parsed = parse_yaml_one(http.body);
    if (!parsed)
      return failed(bad_request(fmt::format("error decoding YAML: {}", parsed.error().message)));
    return parsed;
  }
  auto parsed = parse_json(http.body);
  if (!parsed)
    return failed(bad_request(
        fmt::format("couldn't get version/kind; json parse error: {}", parsed.error().message)));
  return parsed;
}

std::string first(const QueryMap& query, std::string_view name) {
  auto found = query.find(name);
  return found == query.end() || found->second.empty() ? std::string() : found->second.front();
}

bool is_true(const std::string& text) { return text == "true" || text == "1"; }

Result<std::optional<std::int64_t>> number(const QueryMap& query, std::string_view name) {
  const auto text = first(query, name);
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return failed(
        bad_request(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text)));
  return std::optional(value);
}

}  // namespace manta::local
