#include "local/apiserver/field_set.h"

#include "fmt/format.h"

#include <algorithm>
#include <array>

namespace manta::local {
namespace {

constexpr std::array<std::string_view, 10> kBookkeeping = {"name",
                                                           "namespace",
                                                           "uid",
                                                           "resourceVersion",
                                                           "generation",
                                                           "creationTimestamp",
                                                           "deletionTimestamp",
                                                           "managedFields",
                                                           "selfLink",
                                                           "generateName"};

const Schema* schema_below(const Schema* schema, std::string_view name) {
  if (!schema) return nullptr;
  if (const auto* field = schema->field(name)) return field->schema;
  return schema->additional;
}

bool is_keyed(const Schema* schema) {
  return schema && schema->list_type == ListType::Map && !schema->list_keys.empty();
}
bool is_set(const Schema* schema) { return schema && schema->list_type == ListType::Set; }

/// The values of an item's keys, with the defaults that keys may have (a port's protocol is TCP).
Json keys_of(const Json& item, const Schema& list) {
  JsonObject keys;
  for (const auto& name : list.list_keys) {
    const auto* value = item.is_object() ? item.get_object().if_contains(name) : nullptr;
    if (value)
      keys[name] = *value;
    else if (const auto* below = schema_below(list.items, name);
             below && below->limits && below->limits->default_)
      keys[name] = *below->limits->default_;
    else if (name == "protocol")
      keys[name] = "TCP";
  }
  return keys;
}

std::string element_of(const Json& item, const Schema& list) {
  if (is_keyed(&list)) return "k:" + canonical_json(keys_of(item, list));
  return "v:" + dump_json(item);
}

void collect(const Json& value, const Schema* schema, bool root, bool metadata, JsonObject& out) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.get_object()) {
      const std::string_view name = key;
      if (root && (name == "apiVersion" || name == "kind")) continue;
      if (metadata && std::ranges::find(kBookkeeping, name) != kBookkeeping.end()) continue;
      if (member.is_null()) continue;
      const auto* below = schema_below(schema, name);
      const bool is_metadata = root && name == "metadata";
      JsonObject inner;
      const bool atomic = below && below->atomic_map;
      const bool open =
          member.is_object() ? !atomic : member.is_array() && (is_keyed(below) || is_set(below));
      if (open) collect(member, below, false, is_metadata, inner);
      if (is_metadata && inner.empty()) continue;
      out["f:" + std::string(name)] = std::move(inner);
    }
  } else if (value.is_array() && schema) {
    for (const auto& item : value.get_array()) {
      JsonObject inner;
      if (is_keyed(schema)) {
        inner["."] = JsonObject{};
        collect(item, schema->items, false, false, inner);
      }
      out[element_of(item, *schema)] = std::move(inner);
    }
  }
}

void list_members(const Json& set, FieldPath& at, std::vector<FieldPath>& out) {
  if (!set.is_object()) return;
  for (const auto& [key, below] : set.get_object()) {
    if (std::string_view(key) == ".") {
      out.push_back(at);
      continue;
    }
    at.emplace_back(key);
    if (below.is_object() && below.get_object().empty())
      out.push_back(at);
    else
      list_members(below, at, out);
    at.pop_back();
  }
}

Json* find_item(Json& list, std::string_view element, const Schema& schema) {
  if (!list.is_array()) return nullptr;
  for (auto& item : list.get_array())
    if (element_of(item, schema) == element) return &item;
  return nullptr;
}

}  // namespace

Json fields_of(const Json& object, const Schema* schema) {
  JsonObject out;
  collect(object, schema, true, false, out);
  return out;
}

std::vector<FieldPath> members_of(const Json& set) {
  std::vector<FieldPath> out;
  FieldPath at;
  list_members(set, at, out);
  return out;
}

bool set_contains(const Json& set, const FieldPath& path) {
  const Json* at = &set;
  for (const auto& element : path) {
    if (!at->is_object()) return false;
    at = at->get_object().if_contains(element);
    if (!at) return false;
    if (at->is_object() && at->get_object().empty())
      return true;  // this, or a whole that it is part of
  }
  return at->is_object() && at->get_object().contains(".");
}

void set_add(Json& set, const FieldPath& path) {
  Json* at = &set;
  for (const auto& element : path) {
    if (!at->is_object()) *at = JsonObject{};
    auto& members = at->get_object();
    // What was a leaf gets something below it: it stays a member by its dot.
    if (at != &set && members.empty() && element.starts_with("f:") == false)
      members["."] = JsonObject{};
    at = &members[element];
  }
  if (!at->is_object())
    *at = JsonObject{};
  else if (!at->get_object().empty())
    at->get_object()["."] = JsonObject{};
}

void set_remove(Json& set, const FieldPath& path) {
  std::vector<JsonObject*> chain;
  Json* at = &set;
  for (const auto& element : path) {
    if (!at->is_object()) return;
    chain.push_back(&at->get_object());
    at = at->get_object().if_contains(element);
    if (!at) return;
  }
  if (at->is_object() && at->get_object().contains(".") && at->get_object().size() > 1) {
    at->get_object().erase(".");
    return;
  }
  for (std::size_t i = chain.size(); i-- > 0;) {
    chain[i]->erase(path[i]);
    if (!chain[i]->empty()) break;
  }
}

std::string path_text(const FieldPath& path) {
  std::string text;
  for (const auto& element : path) {
    const auto rest = std::string_view(element).substr(2);
    if (element.starts_with("f:"))
      text += fmt::format(".{}", rest);
    else if (element.starts_with("v:"))
      text += fmt::format("[={}]", rest);
    else {
      std::string keys;
      if (auto parsed = parse_json(rest); parsed && parsed->is_object())
        for (const auto& [key, value] : parsed->get_object())
          keys += fmt::format("{}{}={}", keys.empty() ? "" : ",", std::string_view(key),
                              dump_json(value));
      text += fmt::format("[{}]", keys);
    }
  }
  return text;
}

const Json* value_at(const Json& object, const FieldPath& path, const Schema* schema) {
  const Json* at = &object;
  for (const auto& element : path) {
    if (element.starts_with("f:")) {
      const auto name = std::string_view(element).substr(2);
      if (!at->is_object()) return nullptr;
      at = at->get_object().if_contains(name);
      if (!at) return nullptr;
      schema = schema_below(schema, name);
    } else {
      if (!schema) return nullptr;
      at = find_item(const_cast<Json&>(*at), element, *schema);
      if (!at) return nullptr;
      schema = schema->items;
    }
  }
  return at;
}

void remove_at(Json& object, const FieldPath& path, const Schema* schema) {
  if (path.empty()) return;
  const FieldPath above(path.begin(), path.end() - 1);
  auto* parent = const_cast<Json*>(value_at(object, above, schema));
  if (!parent) return;
  if (path.back().starts_with("f:")) {
    if (!parent->is_object()) return;
    parent->get_object().erase(std::string_view(path.back()).substr(2));
    // Keyed items keep their keys; they go when they themselves are removed.
    if (parent->get_object().empty() && above.size() > 1 && above.back().starts_with("f:"))
      remove_at(object, above, schema);
    return;
  }
  const Schema* list = schema;
  for (const auto& element : above)
    list = element.starts_with("f:") ? schema_below(list, std::string_view(element).substr(2))
           : list                    ? list->items
                                     : nullptr;
  if (!list || !parent->is_array()) return;
  JsonArray kept;
  for (auto& item : parent->get_array())
    if (element_of(item, *list) != path.back()) kept.push_back(std::move(item));
  const bool empty = kept.empty();
  *parent = std::move(kept);
  if (empty && above.size() > 1) remove_at(object, above, schema);
}

void merge_applied(Json& live, const Json& applied, const Schema* schema) {
  if (applied.is_object() && live.is_object() && !(schema && schema->atomic_map)) {
    for (const auto& [key, member] : applied.get_object()) {
      if (member.is_null()) continue;
      auto* own = live.get_object().if_contains(key);
      if (!own)
        live.get_object()[key] = member;
      else
        merge_applied(*own, member, schema_below(schema, key));
    }
    return;
  }
  if (applied.is_array() && live.is_array() && (is_keyed(schema) || is_set(schema))) {
    // The applied order leads; what only others have comes after it, in its own order.
    JsonArray merged;
    for (const auto& item : applied.get_array()) {
      auto* own = find_item(live, element_of(item, *schema), *schema);
      Json made = own ? *own : item;
      if (own) merge_applied(made, item, schema->items);
      merged.push_back(std::move(made));
    }
    for (const auto& item : live.get_array()) {
      const auto element = element_of(item, *schema);
      if (std::ranges::none_of(applied.get_array(), [&](const Json& other) {
            return element_of(other, *schema) == element;
          }))
        merged.push_back(item);
    }
    live = std::move(merged);
    return;
  }
  live = applied;
}

}  // namespace manta::local
