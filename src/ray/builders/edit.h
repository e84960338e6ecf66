// Small edits of Kubernetes objects held as JSON documents: what every builder does to containers
// and Pod specs. Unknown fields, key order and number texts of the user's template stay as they
// are.
#pragma once

#include "base/json.h"
#include "kube/object.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace manta::ray {

using kube::StringMap;

/// The array or object under `key`; made, or put in the place of anything else (null included).
JsonArray& array_in(JsonObject& object, std::string_view key);
JsonObject& object_in(JsonObject& object, std::string_view key);

/// The string under `key`; empty when absent or of another type.
std::string_view text_in(const JsonObject& object, std::string_view key);
/// The whole number under `key`; the fallback when absent, of another type or out of range.
std::int64_t int_in(const JsonObject& object, std::string_view key, std::int64_t fallback = 0);
/// The array or object under `key`; static empty ones when absent or of another type.
const JsonArray& array_of(const JsonObject& object, std::string_view key);
const JsonObject& object_of(const JsonObject& object, std::string_view key);
/// True when `key` is there and not null.
bool has_value(const JsonObject& object, std::string_view key);

/// Elements are objects with a `name`: containers, volumes, env, ports.
const JsonObject* find_named(const JsonArray& list, std::string_view name);
JsonObject* find_named(JsonArray& list, std::string_view name);

// ---- containers ----
bool has_env(const JsonObject& container, std::string_view name);
/// Adds at the end, whatever is there: the kubelet lets the last entry of a name win.
void append_env(JsonObject& container, std::string_view name, std::string_view value);
void append_env_field(JsonObject& container, std::string_view name, std::string_view field_path);
/// Adds unless an entry of that name is there. `envFrom` is not looked at. spec/03 §0
void default_env(JsonObject& container, std::string_view name, std::string_view value);
bool mounts_volume(const JsonObject& container, std::string_view volume);
/// The mount at exactly this path, or null.
const JsonObject* find_mount(const JsonObject& container, std::string_view path);
bool mounts_path(const JsonObject& container, std::string_view path);
void append_mount(JsonObject& container, std::string_view volume, std::string_view path,
                  bool read_only = false);
/// requests and limits both {cpu, memory}.
Json fixed_resources(std::string_view cpu, std::string_view memory);

// ---- Pod specs ----
void default_volume(JsonObject& pod_spec, JsonObject volume);  // unless one of that name is there
/// containers[0], the Ray container; made empty when the template has none, which validation
/// refuses earlier.
JsonObject& ray_container(JsonObject& pod_spec);
const JsonObject& ray_container(const JsonObject& pod_spec);
/// The Ray container of a Pod template.
const JsonObject& ray_container_of_template(const Json& pod_template);

// ---- metadata ----
Json json_of(const StringMap& map);
StringMap string_map(const JsonObject& object);                 // non-string values are left out
void set_strings(JsonObject& target, const StringMap& values);  // overwrites

}  // namespace manta::ray
