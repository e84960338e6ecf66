// A request as the wire brings it, and what its headers and query parameters say.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "kube/api.h"
#include "local/apiserver/api_server.h"
#include "local/apiserver/http_text.h"
#include "local/apiserver/schema.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace manta::local {

struct HttpRequest {
  std::string method = "GET";
  std::string target = {};                          // path and query
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};
  Caller caller = {};
};

/// Empty when there is no such header.
std::string header(const HttpRequest& http, std::string_view name);
/// A Content-Type without its parameters.
std::string media_type(std::string_view text);
std::optional<kube::PatchType> patch_type(std::string_view media);
Error unsupported_media(std::string_view accepted);

/// What the Accept header asks for, of what we can do.
struct Accept {
  bool json = true;
  bool table = false;
  bool metadata = false;  // PartialObjectMetadata
  bool discovery = false;
};
Accept read_accept(const std::string& text);

/// JSON, YAML or protobuf; null when there is none.
Result<Json> read_body(const HttpRequest& http, BuiltinTypes& types);

/// A query parameter's first value; empty when there is none.
std::string first(const QueryMap& query, std::string_view name);
bool is_true(const std::string& text);
Result<std::optional<std::int64_t>> number(const QueryMap& query, std::string_view name);

}  // namespace manta::local
