#include "ray/kube_canonical.h"

#include "base/quantity.h"
#include "base/time.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace manta::ray {
namespace {

// What stands for an absent key that is written all the same.
Json zero_value(const ShapeKey& key) {
  if (key.pointer) return nullptr;
  const Shape& shape = resolve(*key.shape);
  switch (shape.kind) {
    case ShapeKind::String:
      return "";
    case ShapeKind::Bool:
      return false;
    case ShapeKind::Int32:
    case ShapeKind::Int64:
    case ShapeKind::Number:
    case ShapeKind::IntOrString:
      return 0;
    case ShapeKind::Quantity:
      return "0";
    case ShapeKind::Object:
      return kube_canonical(JsonObject(), shape);
    case ShapeKind::Time:
    case ShapeKind::List:
    case ShapeKind::Map:
    case ShapeKind::Any:
    case ShapeKind::Ref:
      return nullptr;
  }
  return nullptr;
}

// As Go's omitempty sees a field that is no pointer.
bool is_empty(const Json& value, const Shape& shape) {
  switch (shape.kind) {
    case ShapeKind::String:
      return value.is_string() && value.get_string().empty();
    case ShapeKind::Bool:
      return value.is_bool() && !value.get_bool();
    case ShapeKind::Int32:
    case ShapeKind::Int64:
    case ShapeKind::Number:
      return value.is_number() && value.to_number<double>() == 0;
    case ShapeKind::List:
      return value.is_array() && value.get_array().empty();
    case ShapeKind::Map:
      return value.is_object() && value.get_object().empty();
    default:
      return false;
  }
}

Json canonical_quantity(const Json& value) {
  if (!value.is_string() && !value.is_number()) return value;
  const auto parsed =
      value.is_string() ? Quantity::parse(value.get_string()) : Quantity::parse(dump_json(value));
  return parsed ? Json(parsed->to_string()) : value;
}

Json canonical_time(const Json& value) {
  if (!value.is_string()) return value;
  const auto parsed = parse_rfc3339(value.get_string());
  return parsed ? Json(format_rfc3339(*parsed)) : value;
}

Json canonical_map(const Json& value, const Shape& element) {
  if (!value.is_object()) return value;
  std::map<std::string_view, const Json*> sorted;
  for (const auto& [key, item] : value.get_object()) sorted.emplace(key, &item);
  JsonObject members;
  for (const auto& [key, item] : sorted) members[key] = kube_canonical(*item, element);
  return members;
}

Json canonical_list(const Json& value, const Shape& element) {
  if (!value.is_array()) return value;
  JsonArray items;
  for (const Json& item : value.get_array()) items.push_back(kube_canonical(item, element));
  return items;
}

Json canonical_object(const Json& value, const Shape& shape) {
  if (!value.is_object()) return value;
  JsonObject members;
  for (const ShapeKey& key : shape.keys) {
    const Json* member = value.get_object().if_contains(key.name);
    if (member == nullptr || member->is_null()) {
      if (key.always) members[key.name] = zero_value(key);
      continue;
    }
    Json written = kube_canonical(*member, *key.shape);
    if (key.always || key.pointer || !is_empty(written, resolve(*key.shape)))
      members[key.name] = std::move(written);
  }
  return members;
}

}  // namespace

Json kube_canonical(const Json& value, const Shape& unresolved) {
  const Shape& shape = resolve(unresolved);
  switch (shape.kind) {
    case ShapeKind::Quantity:
      return canonical_quantity(value);
    case ShapeKind::Time:
      return canonical_time(value);
    case ShapeKind::Map:
      return canonical_map(value, *shape.element);
    case ShapeKind::List:
      return canonical_list(value, *shape.element);
    case ShapeKind::Object:
      return canonical_object(value, shape);
    default:
      return value;
  }
}

Json kube_canonical(const Json& value, std::string_view shape) {
  if (const Shape* named = find_shape(shape)) return kube_canonical(value, *named);
  const auto parsed = parse_shape(shape);
  MANTA_CHECK(parsed.has_value());
  return kube_canonical(value, *parsed);
}

}  // namespace manta::ray
