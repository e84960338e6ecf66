#include "ray/builders/edit.h"

namespace manta::ray {

// Looked up first: object::operator[] makes room for a new key even when it finds the key, which
// would move what callers hold references to.
JsonArray& array_in(JsonObject& object, std::string_view key) {
  Json* value = object.if_contains(key);
  if (value == nullptr) value = &object[key];
  if (!value->is_array()) *value = JsonArray(object.storage());
  return value->get_array();
}

JsonObject& object_in(JsonObject& object, std::string_view key) {
  Json* value = object.if_contains(key);
  if (value == nullptr) value = &object[key];
  if (!value->is_object()) *value = JsonObject(object.storage());
  return value->get_object();
}

std::string_view text_in(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_string();
}

std::int64_t int_in(const JsonObject& object, std::string_view key, std::int64_t fallback) {
  const Json* value = object.if_contains(key);
  if (value == nullptr) return fallback;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64() && value->get_uint64() <= INT64_MAX)
    return static_cast<std::int64_t>(value->get_uint64());
  return fallback;
}

const JsonArray& array_of(const JsonObject& object, std::string_view key) {
  static const JsonArray kEmpty;
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
}

const JsonObject& object_of(const JsonObject& object, std::string_view key) {
  static const JsonObject kEmpty;
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : kEmpty;
}

bool has_value(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && !value->is_null();
}

const JsonObject* find_named(const JsonArray& list, std::string_view name) {
  for (const Json& item : list)
    if (item.is_object() && text_in(item.get_object(), "name") == name) return &item.get_object();
  return nullptr;
}

JsonObject* find_named(JsonArray& list, std::string_view name) {
  return const_cast<JsonObject*>(find_named(std::as_const(list), name));
}

bool has_env(const JsonObject& container, std::string_view name) {
  return find_named(array_of(container, "env"), name) != nullptr;
}

void append_env(JsonObject& container, std::string_view name, std::string_view value) {
  JsonObject entry{{"name", name}};
  if (!value.empty()) entry["value"] = value;  // as Kubernetes writes it: empty is left out
  array_in(container, "env").push_back(std::move(entry));
}

void append_env_field(JsonObject& container, std::string_view name, std::string_view field_path) {
  array_in(container, "env")
      .push_back(JsonObject{
          {"name", name},
          {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"fieldPath", field_path}}}}}});
}

void default_env(JsonObject& container, std::string_view name, std::string_view value) {
  if (!has_env(container, name)) append_env(container, name, value);
}

bool mounts_volume(const JsonObject& container, std::string_view volume) {
  return find_named(array_of(container, "volumeMounts"), volume) != nullptr;
}

const JsonObject* find_mount(const JsonObject& container, std::string_view path) {
  for (const Json& mount : array_of(container, "volumeMounts")) {
    if (!mount.is_object()) continue;
    auto where = text_in(mount.get_object(), "mountPath");
    while (where.size() > 1 && where.ends_with('/')) where.remove_suffix(1);
    if (where == path) return &mount.get_object();
  }
  return nullptr;
}

bool mounts_path(const JsonObject& container, std::string_view path) {
  return find_mount(container, path) != nullptr;
}

void append_mount(JsonObject& container, std::string_view volume, std::string_view path,
                  bool read_only) {
  JsonObject mount{{"name", volume}};
  if (read_only) mount["readOnly"] = true;
  mount["mountPath"] = path;
  array_in(container, "volumeMounts").push_back(std::move(mount));
}

Json fixed_resources(std::string_view cpu, std::string_view memory) {
  JsonObject amounts{{"cpu", cpu}, {"memory", memory}};
  return JsonObject{{"limits", amounts}, {"requests", amounts}};
}

void default_volume(JsonObject& pod_spec, JsonObject volume) {
  JsonArray& volumes = array_in(pod_spec, "volumes");
  if (find_named(volumes, text_in(volume, "name")) == nullptr) volumes.push_back(std::move(volume));
}

JsonObject& ray_container(JsonObject& pod_spec) {
  JsonArray& containers = array_in(pod_spec, "containers");
  if (containers.empty()) containers.emplace_back(JsonObject{});
  if (!containers.front().is_object()) containers.front() = JsonObject{};
  return containers.front().get_object();
}

const JsonObject& ray_container(const JsonObject& pod_spec) {
  static const JsonObject kEmpty;
  const JsonArray& containers = array_of(pod_spec, "containers");
  return !containers.empty() && containers.front().is_object() ? containers.front().get_object()
                                                               : kEmpty;
}

const JsonObject& ray_container_of_template(const Json& pod_template) {
  return ray_container(object_at(pod_template, {"spec"}));
}

Json json_of(const StringMap& map) {
  JsonObject object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

StringMap string_map(const JsonObject& object) {
  StringMap map;
  for (const auto& [key, value] : object)
    if (value.is_string()) map.emplace(key, std::string_view(value.get_string()));
  return map;
}

void set_strings(JsonObject& target, const StringMap& values) {
  for (const auto& [key, value] : values) target[key] = value;
}

}  // namespace manta::ray
