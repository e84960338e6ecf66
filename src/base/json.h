// JSON documents: what users and API servers send, kept as they sent it.
//
// A document is a Boost.JSON value; unknown fields, key order and numbers pass through unchanged.
// Reading helpers answer "absent" for a wrong type as well as for a missing key: what others send
// is hostile until parsed, and a typed parser (src/ray) reports wrong types with their path.
#pragma once

#include "base/result.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace manta {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

/// Strict JSON. Fails with line, column and what was expected; depth is limited to 128.
Result<Json> parse_json(std::string_view text);

enum class JsonEscape { Plain, Html };  // Html: < > & U+2028 U+2029 as \u00XX, as Go's encoder does
/// Compact text, keys in document order, doubles in the shortest form that reads back equal
/// (1.0 prints as 1, as Go prints it).
std::string dump_json(const Json& value, JsonEscape escape = JsonEscape::Plain);
/// Two-space indented, for people.
std::string pretty_json(const Json& value);
/// Compact with object keys sorted bytewise at every level: equal documents give equal text.
std::string canonical_json(const Json& value);

// What is read is part of the document: the compiler refuses what would outlive a temporary one.
using JsonPath = std::initializer_list<std::string_view>;

/// The value at a path of object keys, or null when a step is missing or no object.
///   find(pod, {"spec", "nodeName"})
const Json* find(const Json& value [[clang::lifetimebound]], JsonPath path);
const Json* find(const JsonObject& object [[clang::lifetimebound]], JsonPath path);

/// Typed reads; absent or of another type gives the fallback.
std::string_view string_at(const Json& value [[clang::lifetimebound]], JsonPath path,
                           std::string_view fallback = {});
std::string_view string_at(const JsonObject& object [[clang::lifetimebound]], JsonPath path,
                           std::string_view fallback = {});
std::int64_t int_at(const Json& value, JsonPath path, std::int64_t fallback = 0);
bool bool_at(const Json& value, JsonPath path, bool fallback = false);
/// Empty object / array (static storage) when absent.
const JsonObject& object_at(const Json& value [[clang::lifetimebound]], JsonPath path);
const JsonObject& object_at(const JsonObject& object [[clang::lifetimebound]], JsonPath path);
const JsonArray& array_at(const Json& value [[clang::lifetimebound]], JsonPath path);
const JsonArray& array_at(const JsonObject& object [[clang::lifetimebound]], JsonPath path);

/// The value at a path, made on the way as objects where missing (a non-object step is replaced).
Json& ensure(Json& value, JsonPath path);

/// RFC 7386.
void merge_patch(Json& target, const Json& patch);
/// RFC 6902. Fails with the operation's index and path; the target is then unchanged.
Result<void> json_patch(Json& target, const Json& operations);

}  // namespace manta
