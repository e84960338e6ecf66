#include "base/json.h"

#include <boost/json/string.hpp>

#include <limits>

namespace manta {

namespace {

std::string_view text_of(const Json* value, std::string_view fallback) {
  const auto* text = value ? value->if_string() : nullptr;
  return text ? std::string_view(text->data(), text->size()) : fallback;
}

const JsonObject& object_of(const Json* value) {
  static const JsonObject kEmpty;
  const auto* object = value ? value->if_object() : nullptr;
  return object ? *object : kEmpty;
}

const JsonArray& array_of(const Json* value) {
  static const JsonArray kEmpty;
  const auto* array = value ? value->if_array() : nullptr;
  return array ? *array : kEmpty;
}

}  // namespace

const Json* find(const JsonObject& object, JsonPath path) {
  const JsonObject* at = &object;
  const Json* found = nullptr;
  for (const auto step : path) {
    if (!at) return nullptr;
    found = at->if_contains(step);
    if (!found) return nullptr;
    at = found->if_object();
  }
  return found;
}

const Json* find(const Json& value, JsonPath path) {
  if (path.size() == 0) return &value;
  const auto* object = value.if_object();
  return object ? find(*object, path) : nullptr;
}

std::string_view string_at(const Json& value, JsonPath path, std::string_view fallback) {
  return text_of(find(value, path), fallback);
}
std::string_view string_at(const JsonObject& object, JsonPath path, std::string_view fallback) {
  return text_of(find(object, path), fallback);
}

std::int64_t int_at(const Json& value, JsonPath path, std::int64_t fallback) {
  const Json* found = find(value, path);
  if (!found) return fallback;
  if (const auto* i = found->if_int64()) return *i;
  // Other clients may write whole numbers as 3.0; anything else is another type.
  if (const auto* d = found->if_double())
    if (*d >= -9.0e18 && *d <= 9.0e18 && static_cast<double>(static_cast<std::int64_t>(*d)) == *d)
      return static_cast<std::int64_t>(*d);
  return fallback;
}

bool bool_at(const Json& value, JsonPath path, bool fallback) {
  const Json* found = find(value, path);
  const auto* b = found ? found->if_bool() : nullptr;
  return b ? *b : fallback;
}

const JsonObject& object_at(const Json& value, JsonPath path) {
  return object_of(find(value, path));
}
const JsonObject& object_at(const JsonObject& object, JsonPath path) {
  return object_of(find(object, path));
}

const JsonArray& array_at(const Json& value, JsonPath path) { return array_of(find(value, path)); }
const JsonArray& array_at(const JsonObject& object, JsonPath path) {
  return array_of(find(object, path));
}

Json& ensure(Json& value, JsonPath path) {
  Json* at = &value;
  for (const auto step : path) {
    if (!at->is_object()) *at = JsonObject();
    at = &at->get_object()[step];
  }
  return *at;
}

void merge_patch(Json& target, const Json& patch) {
  const auto* changes = patch.if_object();
  if (!changes) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = JsonObject();
  auto& object = target.get_object();
  for (const auto& [key, value] : *changes) {
    if (value.is_null())
      object.erase(key);
    else
      merge_patch(object[key], value);
  }
}

}  // namespace manta
