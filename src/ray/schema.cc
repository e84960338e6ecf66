#include "ray/schema.h"

#include <algorithm>
#include <utility>

namespace manta::ray {
namespace {

// A whole shape starts with a type's name or a list; anything else adds rules to the C++ type.
bool is_whole_shape(std::string_view rules) {
  return !rules.empty() && (rules[0] == '[' || (rules[0] >= 'A' && rules[0] <= 'Z'));
}

Shape shape_of_field(const Field& field) {
  if (is_whole_shape(field.rules)) {
    auto parsed = parse_shape(field.rules);
    MANTA_CHECK(parsed.has_value());  // the description is ours and constant
    parsed->doc = field.doc;
    return std::move(*parsed);
  }
  Shape shape = shape_of(*field.type);
  MANTA_CHECK(add_rules(shape, field.rules).has_value());
  shape.doc = field.doc;
  return shape;
}

ShapeKind basic_shape(TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
      return ShapeKind::Bool;
    case TypeKind::Int32:
      return ShapeKind::Int32;
    case TypeKind::Int64:
      return ShapeKind::Int64;
    case TypeKind::Float:
      return ShapeKind::Number;
    case TypeKind::String:
      return ShapeKind::String;
    case TypeKind::Quantity:
      return ShapeKind::Quantity;
    case TypeKind::Time:
      return ShapeKind::Time;
    default:
      return ShapeKind::Any;
  }
}

constexpr const char* kNumber = R"((([0-9]+(\.[0-9]*)?)|(\.[0-9]+)))";

Json quantity_schema() {
  const std::string number = kNumber;
  return JsonObject{
      {"anyOf", JsonArray{JsonObject{{"type", "integer"}}, JsonObject{{"type", "string"}}}},
      {"pattern",
       R"(^(\+|-)?)" + number + R"((([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?)" + number + "))?$"},
      {"x-kubernetes-int-or-string", true}};
}

std::string_view pattern_text(std::string_view name) {
  if (name == "P1") return R"(^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$)";
  MANTA_CHECK(name == "P2");
  return R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?)"
         R"((([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)";
}

struct CelRule {
  std::string_view id, rule, message;
};
constexpr CelRule kCelRules[] = {
    {"C1", "self == oldSelf", "gcsFaultToleranceOptions.backend is immutable"},
    {"C2", "self == oldSelf", "the managedBy field is immutable"},
    {"C3", "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",
     "the managedBy field value must be either 'ray.io/kuberay-operator' or "
     "'kueue.x-k8s.io/multikueue'"},
    {"C4", "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))",
     "legacy policies (onSuccess/onFailure) and deletionRules cannot be used together within the "
     "same deletionStrategy"},
    {"C5", "((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))",
     "deletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field "
     "(cannot be empty)"},
    {"C6", "!(has(self.jobStatus) && has(self.jobDeploymentStatus))",
     "JobStatus and JobDeploymentStatus cannot be used together within the same deletion "
     "condition."},
    {"C7", "has(self.jobStatus) || has(self.jobDeploymentStatus)",
     "the deletion condition requires either the JobStatus or the JobDeploymentStatus field."},
    // Upstream's C2 compares two present values only. SEEN-37
    {"C8", "!has(oldSelf.managedBy) || has(self.managedBy)", "the managedBy field is immutable"},
};

Json cel_schema(std::string_view id) {
  const auto* rule = std::ranges::find(kCelRules, id, &CelRule::id);
  MANTA_CHECK(rule != std::end(kCelRules));
  return JsonObject{{"message", rule->message}, {"rule", rule->rule}};
}

Json strings(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const auto& text : texts) array.push_back(Json(text));
  return array;
}

JsonObject typed(std::string_view type, std::string_view format = {}) {
  JsonObject schema{{"type", type}};
  if (!format.empty()) schema["format"] = format;
  return schema;
}

JsonObject type_schema(const Shape& shape);

JsonObject object_schema(const Shape& shape) {
  JsonObject schema = typed("object");
  JsonObject properties;
  std::vector<std::string> required;
  for (const ShapeKey& key : shape.keys) {
    properties[key.name] = openapi_schema(*key.shape);
    if (key.required) required.push_back(key.name);
  }
  schema["properties"] = std::move(properties);
  std::ranges::sort(required);
  if (!required.empty()) schema["required"] = strings(required);
  return schema;
}

JsonObject type_schema(const Shape& shape) {
  switch (shape.kind) {
    case ShapeKind::String:
      return typed("string");
    case ShapeKind::Bool:
      return typed("boolean");
    case ShapeKind::Int32:
      return typed("integer", "int32");
    case ShapeKind::Int64:
      return typed("integer", "int64");
    case ShapeKind::Number:
      return typed("number");
    case ShapeKind::Time:
      return typed("string", "date-time");
    case ShapeKind::Quantity:
      return quantity_schema().get_object();
    case ShapeKind::IntOrString: {
      JsonObject schema = quantity_schema().get_object();
      schema.erase("pattern");
      return schema;
    }
    case ShapeKind::Any: {
      JsonObject schema = typed("object");
      schema["x-kubernetes-preserve-unknown-fields"] = true;
      return schema;
    }
    case ShapeKind::Map: {
      JsonObject schema = typed("object");
      schema["additionalProperties"] = openapi_schema(*shape.element);
      return schema;
    }
    case ShapeKind::List: {
      JsonObject schema = typed("array");
      schema["items"] = openapi_schema(*shape.element);
      return schema;
    }
    case ShapeKind::Object:
      return object_schema(shape);
    case ShapeKind::Ref:
      return openapi_schema(resolve(shape)).get_object();
  }
  return {};
}

void add_limits(JsonObject& schema, const Shape& shape) {
  if (!shape.doc.empty()) schema["description"] = shape.doc;
  if (!shape.values.empty()) schema["enum"] = strings(shape.values);
  if (shape.default_value) schema["default"] = *shape.default_value;
  if (shape.minimum) schema["minimum"] = *shape.minimum;
  if (shape.min_items) schema["minItems"] = *shape.min_items;
  if (shape.min_length) schema["minLength"] = *shape.min_length;
  if (shape.max_length) schema["maxLength"] = *shape.max_length;
  if (!shape.pattern.empty()) schema["pattern"] = pattern_text(shape.pattern);
  if (shape.open) schema["x-kubernetes-preserve-unknown-fields"] = true;
  if (shape.nullable) schema["nullable"] = true;
  if (!shape.list_type.empty()) schema["x-kubernetes-list-type"] = shape.list_type;
  if (!shape.list_keys.empty()) schema["x-kubernetes-list-map-keys"] = strings(shape.list_keys);
  if (shape.atomic_map) schema["x-kubernetes-map-type"] = "atomic";
  if (!shape.cel.empty()) {
    JsonArray rules;
    for (const auto& id : shape.cel) rules.push_back(cel_schema(id));
    schema["x-kubernetes-validations"] = std::move(rules);
  }
}

JsonObject sorted(const JsonObject& object) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : object) keys.push_back(key);
  std::ranges::sort(keys);
  JsonObject result;
  for (const auto key : keys) result[key] = object.at(key);
  return result;
}

}  // namespace

Shape shape_of(const TypeInfo& type) {
  Shape shape;
  switch (type.kind) {
    case TypeKind::Optional:
      return shape_of(*type.element);
    case TypeKind::List:
    case TypeKind::Map:
      shape.kind = type.kind == TypeKind::List ? ShapeKind::List : ShapeKind::Map;
      shape.element = std::make_shared<const Shape>(shape_of(*type.element));
      return shape;
    case TypeKind::StringMap:
      shape.kind = ShapeKind::Map;
      shape.element = std::make_shared<const Shape>(Shape{.kind = ShapeKind::String});
      return shape;
    case TypeKind::Struct:
      shape.kind = ShapeKind::Object;
      shape.doc = type.doc;
      for (const Field& field : type.fields)
        shape.keys.push_back({.name = field.name,
                              .required = field.required,
                              .always = field.always,
                              .shape = std::make_shared<const Shape>(shape_of_field(field))});
      MANTA_CHECK(add_rules(shape, type.rules).has_value());
      return shape;
    default:
      shape.kind = basic_shape(type.kind);
      return shape;
  }
}

Json openapi_schema(const Shape& shape) {
  JsonObject schema = type_schema(shape);
  add_limits(schema, shape);
  if (const auto it = schema.find("properties"); it != schema.end())
    it->value() = sorted(it->value().get_object());
  return sorted(schema);
}

}  // namespace manta::ray
