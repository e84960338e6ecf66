#include "local/apiserver/crd_structural.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

namespace manta::local {
namespace {

constexpr std::array<std::string_view, 4> kJunctors = {"allOf", "anyOf", "oneOf", "not"};

using Visit = std::function<void(const Json& child, const std::string& path)>;

/// Every schema right below, but for those of junctors.
void each_child(const Json& schema, const std::string& path, const Visit& visit) {
  for (const auto& [name, child] : object_at(schema, {"properties"}))
    visit(child, fmt::format("{}.properties[{}]", path, std::string_view(name)));
  for (const auto* name : {"items", "additionalProperties"})
    if (const auto* child = find(schema, {name}); child && child->is_object())
      visit(*child, fmt::format("{}.{}", path, name));
}

void each_junctor(const Json& schema, const std::string& path, const Visit& visit) {
  for (const auto name : kJunctors) {
    std::size_t index = 0;
    for (const auto& child : array_at(schema, {name}))
      visit(child, fmt::format("{}.{}[{}]", path, name, index++));
    if (const auto* child = find(schema, {name}); child && child->is_object())
      visit(*child, fmt::format("{}.{}", path, name));
  }
}

bool is_scalar_type(std::string_view type) {
  return type == "string" || type == "integer" || type == "number" || type == "boolean";
}

/// The first stage: what is not had at all, and what lists and maps say of themselves.
class Vocabulary {
 public:
  explicit Vocabulary(FieldErrors& errors) : errors_(errors) {}

  void check(const Json& schema, const std::string& path) {
    if (!schema.is_object()) return;
    unsupported(schema, path);
    list(schema, path);
    if (const auto map = string_at(schema, {"x-kubernetes-map-type"});
        !map.empty() && map != "atomic" && map != "granular")
      errors_.not_supported(path + ".x-kubernetes-map-type", Json(map), {"atomic", "granular"});
    rules(schema, path);
    const Visit below = [this](const Json& child, const std::string& at) { check(child, at); };
    each_child(schema, path, below);
    each_junctor(schema, path, below);
  }

 private:
  void unsupported(const Json& schema, const std::string& path) {
    for (const auto* name : {"$ref", "id"})
      if (!string_at(schema, {name}).empty())
        errors_.forbidden(fmt::format("{}.{}", path, name),
                          fmt::format("{} is not supported", name));
    for (const auto* name : {"definitions", "dependencies", "patternProperties"})
      if (!object_at(schema, {name}).empty())
        errors_.forbidden(fmt::format("{}.{}", path, name),
                          fmt::format("{} is not supported", name));
    if (const auto* items = find(schema, {"items"}); items && items->is_array())
      errors_.forbidden(path + ".items", "items must be a schema object and not an array");
    if (bool_at(schema, {"uniqueItems"}))
      errors_.forbidden(
          path + ".uniqueItems",
          "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
  }

  void list(const Json& schema, const std::string& path) {
    const auto kind = string_at(schema, {"x-kubernetes-list-type"});
    const auto& keys = array_at(schema, {"x-kubernetes-list-map-keys"});
    const auto keys_path = path + ".x-kubernetes-list-map-keys";
    if (!kind.empty() && kind != "atomic" && kind != "set" && kind != "map")
      errors_.not_supported(path + ".x-kubernetes-list-type", Json(kind), {"atomic", "set", "map"});
    if (const auto type = string_at(schema, {"type"}); !kind.empty() && type != "array")
      errors_.invalid(path + ".type", Json(type),
                      "must be array if x-kubernetes-list-type is specified");
    if (kind == "map" && keys.empty())
      errors_.required(keys_path, "must not be empty if x-kubernetes-list-type is map");
    if (kind != "map" && !keys.empty())
      errors_.required(path + ".x-kubernetes-list-type",
                       "must be map if x-kubernetes-list-map-keys is non-empty");
    if (const auto* items = find(schema, {"items"}); kind == "map" && items && items->is_object())
      list_of_maps(*items, keys, path + ".items", keys_path);
  }

  void list_of_maps(const Json& items, const JsonArray& keys, const std::string& path,
                    const std::string& keys_path) {
    if (const auto type = string_at(items, {"type"}); type != "object") {
      errors_.invalid(path + ".type", Json(type),
                      "must be object if parent array's x-kubernetes-list-type is map");
      return;
    }
    const auto& properties = object_at(items, {"properties"});
    const auto& required = array_at(items, {"required"});
    std::set<std::string> seen;
    for (const auto& key : keys) {
      const std::string name(key.is_string() ? std::string_view(key.get_string()) : "");
      if (!seen.insert(name).second) {
        errors_.invalid(keys_path, Json(keys), "must not contain duplicate entries");
        return;
      }
      const auto* property = properties.if_contains(name);
      if (!property) {
        errors_.invalid(keys_path, Json(keys), "entries must all be names of item properties");
        return;
      }
      const auto at = fmt::format("{}.properties[{}]", path, name);
      const auto type = string_at(*property, {"type"});
      if (!type.empty() && !is_scalar_type(type))
        errors_.invalid(at + ".type", Json(type),
                        "must be a scalar type if parent array's x-kubernetes-list-type is map");
      if (!find(*property, {"default"}) && std::ranges::find(required, key) == required.end())
        errors_.required(at + ".default",
                         "this property is in x-kubernetes-list-map-keys, so it must have a "
                         "default or be a required property");
    }
  }

  void rules(const Json& schema, const std::string& path) {
    std::size_t index = 0;
    for (const auto& rule : array_at(schema, {"x-kubernetes-validations"})) {
      const auto at = fmt::format("{}.x-kubernetes-validations[{}]", path, index++);
      if (trim(string_at(rule, {"rule"})).empty())
        errors_.required(at + ".rule", "rule is not specified");
      if (const auto text = string_at(rule, {"message"}); text.find('\n') != text.npos)
        errors_.invalid(at + ".message", Json(text), "must not contain line breaks");
      const auto reason = string_at(rule, {"reason"});
      constexpr std::array<std::string_view, 4> kReasons = {
          "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"};
      if (!reason.empty() && std::ranges::find(kReasons, reason) == kReasons.end())
        errors_.not_supported(at + ".reason", Json(reason), {kReasons.begin(), kReasons.end()});
    }
  }

  FieldErrors& errors_;
};

/// The second: every node says its type, unless it opens itself in another way, and junctors say
/// nothing of the structure.
class Structural {
 public:
  explicit Structural(FieldErrors& errors) : errors_(errors) {}

  void check(const Json& schema, const std::string& path, bool root) {
    if (!schema.is_object()) return;
    type(schema, path, root);
    const auto* extra = find(schema, {"additionalProperties"});
    if (extra && root)
      errors_.forbidden(path + ".additionalProperties", "must not be used at the root");
    else if (extra && !object_at(schema, {"properties"}).empty())
      errors_.forbidden(path + ".additionalProperties",
                        "additionalProperties and properties are mutual exclusive");
    const auto* open = find(schema, {"x-kubernetes-preserve-unknown-fields"});
    if (open && *open == Json(false))
      errors_.invalid(path + ".x-kubernetes-preserve-unknown-fields", *open,
                      "must be true or undefined");
    if (bool_at(schema, {"x-kubernetes-embedded-resource"})) embedded(schema, path);
    if (root) metadata(schema, path);
    each_child(schema, path,
               [this](const Json& child, const std::string& at) { check(child, at, false); });
    const bool int_or_string = bool_at(schema, {"x-kubernetes-int-or-string"});
    each_junctor(schema, path, [&](const Json& child, const std::string& at) {
      junctor(child, at, int_or_string);
    });
  }

 private:
  void type(const Json& schema, const std::string& path, bool root) {
    const auto type = string_at(schema, {"type"});
    const bool open = bool_at(schema, {"x-kubernetes-int-or-string"}) ||
                      bool_at(schema, {"x-kubernetes-preserve-unknown-fields"});
    if (type.empty() && (root || !open))
      errors_.required(path + ".type", root ? "must not be empty at the root"
                                            : "must not be empty for specified object fields");
    else if (root && type != "object")
      errors_.invalid(path + ".type", Json(type), "must be object at the root");
    else if (!type.empty() && type != "object" && type != "array" && !is_scalar_type(type))
      errors_.not_supported(path + ".type", Json(type),
                            {"array", "boolean", "integer", "number", "object", "string"});
    if (type == "array" && !find(schema, {"items"}))
      errors_.required(path + ".items", "must be specified");
  }

  void embedded(const Json& schema, const std::string& path) {
    if (object_at(schema, {"properties"}).empty() &&
        !bool_at(schema, {"x-kubernetes-preserve-unknown-fields"}))
      errors_.required(path + ".properties",
                       "must not be empty if x-kubernetes-embedded-resource is true without "
                       "x-kubernetes-preserve-unknown-fields");
    if (const auto type = string_at(schema, {"type"}); type != "object")
      errors_.invalid(path + ".type", Json(type),
                      "must be object if x-kubernetes-embedded-resource is true");
  }

  void metadata(const Json& schema, const std::string& path) {
    for (const auto& [name, child] : object_at(schema, {"properties", "metadata", "properties"}))
      if (std::string_view(name) != "name" && std::string_view(name) != "generateName") {
        errors_.forbidden(path + ".properties[metadata]",
                          "must not specify anything other than name and generateName, but "
                          "metadata is implicitly specified");
        return;
      }
  }

  /// `typed`: an int or string may say so in the words of JSON Schema.
  void junctor(const Json& schema, const std::string& path, bool typed) {
    if (!schema.is_object()) return;
    for (const auto* name : {"type", "description"})
      if (!string_at(schema, {name}).empty() && !(typed && name == std::string_view("type")))
        errors_.forbidden(fmt::format("{}.{}", path, name), "must be empty to be structural");
    if (const auto* value = find(schema, {"default"}); value && !value->is_null())
      errors_.forbidden(path + ".default", "must be undefined to be structural");
    if (bool_at(schema, {"nullable"}))
      errors_.forbidden(path + ".nullable", "must be false to be structural");
    const Visit below = [&](const Json& child, const std::string& at) {
      junctor(child, at, typed);
    };
    each_child(schema, path, below);
    each_junctor(schema, path, below);
  }

  FieldErrors& errors_;
};

}  // namespace

void check_schema(const Json& schema, const std::string& path, FieldErrors& errors) {
  const auto before = errors.size();
  Vocabulary(errors).check(schema, path);
  if (errors.size() == before) Structural(errors).check(schema, path, true);
}

}  // namespace manta::local
