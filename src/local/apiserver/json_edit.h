// Small edits of JSON objects that defaulting is made of.
#pragma once

#include "base/json.h"

#include <string_view>

namespace manta::local {

/// Sets the member unless there is one.
inline void set_default(JsonObject& object, std::string_view key, Json value) {
  if (!object.contains(key)) object[key] = std::move(value);
}

/// The object at a path, made where missing.
inline JsonObject& object_made_at(Json& value, std::initializer_list<std::string_view> path) {
  auto& place = ensure(value, path);
  if (!place.is_object()) place = JsonObject{};
  return place.get_object();
}

/// The member as an object to edit, or null when it is absent or something else.
inline JsonObject* object_in(JsonObject& object, std::string_view key) {
  auto* value = object.if_contains(key);
  return value && value->is_object() ? &value->get_object() : nullptr;
}

/// Calls `edit` with each object of an array member.
template <class Edit>
void each_object(JsonObject& object, std::string_view key, Edit edit) {
  auto* value = object.if_contains(key);
  if (!value || !value->is_array()) return;
  for (auto& item : value->get_array())
    if (item.is_object()) edit(item.get_object());
}

}  // namespace manta::local
