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

/// The items of a keyed list or a set by their elements; of equal ones the first.
std::unordered_map<std::string, const Json*> items_of(const Json& list, const Schema& schema) {
  std::unordered_map<std::string, const Json*> items;
  for (const auto& item : list.get_array()) items.emplace(element_of(item, schema), &item);
  return items;
}

bool is_leaf(const Json& set) { return !set.is_object() || set.get_object().empty(); }
/// The whole of it goes, not only things in it.
bool is_whole(const Json& set) { return is_leaf(set) || set.get_object().contains("."); }

/// `depth` members are above the value: those that were given by one name alone always stay.
void remove_below(Json& value, const Json& set, const Schema* schema, std::size_t depth) {
  if (value.is_array()) {
    if (!schema) return;
    JsonArray kept;
    for (auto& item : value.get_array()) {
      const auto* gone = set.get_object().if_contains(element_of(item, *schema));
      if (gone && is_whole(*gone)) continue;
      // Items keep their keys, so none becomes empty.
      if (gone) remove_below(item, *gone, schema->items, depth + 1);
      kept.push_back(std::move(item));
    }
    value = std::move(kept);
    return;
  }
  if (!value.is_object()) return;
  auto& members = value.get_object();
  for (const auto& [key, below] : set.get_object()) {
    if (!std::string_view(key).starts_with("f:")) continue;
    const auto name = std::string_view(key).substr(2);
    auto* member = members.if_contains(name);
    if (!member) continue;
    if (!is_whole(below)) {
      remove_below(*member, below, schema_below(schema, name), depth + 1);
      const bool empty = (member->is_object() && member->get_object().empty()) ||
                         (member->is_array() && member->get_array().empty());
      if (!empty || depth == 0) continue;
    }
    members.erase(name);
  }
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
    // What was a leaf gets something below it: it stays a member by its dot.
    if (!at->is_object())
      *at = JsonObject{};
    else if (at != &set && at->get_object().empty())
      at->get_object()["."] = JsonObject{};
    at = &at->get_object()[element];
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

const Json* PathReader::at(const FieldPath& path) {
  const Json* value = &object_;
  const Schema* schema = schema_;
  for (const auto& element : path) {
    if (element.starts_with("f:")) {
      const auto name = std::string_view(element).substr(2);
      if (!value->is_object()) return nullptr;
      value = value->get_object().if_contains(name);
      schema = schema_below(schema, name);
    } else {
      if (!schema || !value->is_array()) return nullptr;
      auto& items = lists_[value];
      if (items.empty()) items = items_of(*value, *schema);
      const auto found = items.find(element);
      value = found == items.end() ? nullptr : found->second;
      schema = schema->items;
    }
    if (!value) return nullptr;
  }
  return value;
}

void remove_members(Json& object, const Json& set, const Schema* schema) {
  if (set.is_object()) remove_below(object, set, schema, 0);
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
    const auto live_items = items_of(live, *schema), applied_items = items_of(applied, *schema);
    for (const auto& item : applied.get_array()) {
      const auto own = live_items.find(element_of(item, *schema));
      Json made = own != live_items.end() ? *own->second : item;
      if (own != live_items.end()) merge_applied(made, item, schema->items);
      merged.push_back(std::move(made));
    }
    for (const auto& item : live.get_array())
      if (!applied_items.contains(element_of(item, *schema))) merged.push_back(item);
    live = std::move(merged);
    return;
  }
  live = applied;
}

}  // namespace manta::local
