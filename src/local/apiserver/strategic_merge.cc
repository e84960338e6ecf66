#include "local/apiserver/strategic_merge.h"

#include "base/hash.h"
#include "fmt/format.h"
#include "local/apiserver/field_errors.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace manta::local {
namespace {

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetain = "$retainKeys";
constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrder = "$setElementOrder/";

std::string_view directive_of(const Json& value) { return string_at(value, {kDirective}); }

bool is_directive(std::string_view key) {
  return key == kDirective || key == kRetain || key.starts_with(kDelete) || key.starts_with(kOrder);
}

/// A patch's own content: directives are for us, nulls mean absence.
Json without_directives(const Json& value) {
  if (value.is_object()) {
    JsonObject out;
    for (const auto& [key, member] : value.get_object())
      if (!is_directive(key) && !member.is_null()) out[key] = without_directives(member);
    return out;
  }
  if (value.is_array()) {
    JsonArray out;
    for (const auto& item : value.get_array())
      if (directive_of(item).empty()) out.push_back(without_directives(item));
    return out;
  }
  return value;
}

const Json* key_of(const Json& item, const std::string& key) {
  return item.is_object() ? item.get_object().if_contains(key) : nullptr;
}

/// A value as a text, to find it among many.
using Ids = std::unordered_set<std::string>;
Ids ids_of(const JsonArray& list) {
  Ids ids;
  for (const auto& item : list) ids.insert(canonical_json(item));
  return ids;
}

void remove_all(JsonArray& list, const JsonArray& gone) {
  const auto ids = ids_of(gone);
  JsonArray kept;
  for (auto& item : list)
    if (!ids.contains(canonical_json(item))) kept.push_back(std::move(item));
  list = std::move(kept);
}

void retain(JsonObject& members, const JsonArray& retained) {
  const auto names = ids_of(retained);
  std::vector<std::string> gone;
  for (const auto& [name, value] : members)
    if (!names.contains(canonical_json(Json(std::string(name))))) gone.emplace_back(name);
  for (const auto& name : gone) members.erase(name);
}

/// A list's items by their merge key; of equal keys the places of all.
class KeyedItems {
 public:
  KeyedItems(JsonArray& items, const std::string& key) : items_(items), gone_(items.size()) {
    for (std::size_t i = 0; i < items.size(); ++i)
      if (const auto* own = key_of(items[i], key)) places_[canonical_json(*own)].push_back(i);
  }
  Json* first(const std::string& id) {
    const auto found = places_.find(id);
    return found == places_.end() ? nullptr : &items_[found->second.front()];
  }
  void add(const std::string& id, Json item) {
    places_[id].push_back(items_.size());
    items_.push_back(std::move(item));
    gone_.push_back(false);
  }
  void remove(const std::string& id) {
    const auto found = places_.find(id);
    if (found == places_.end()) return;
    for (const auto place : found->second) gone_[place] = true;
    places_.erase(found);
  }
  /// Takes those that were removed out of the list.
  void settle() {
    JsonArray kept;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (!gone_[i]) kept.push_back(std::move(items_[i]));
    items_ = std::move(kept);
  }

 private:
  JsonArray& items_;
  std::vector<bool> gone_;
  std::unordered_map<std::string, std::vector<std::size_t>> places_ = {};
};

struct Merger {
  Result<void> object(Json& target, const Json& patch, const Schema* schema) {
    if (!target.is_object()) target = JsonObject{};
    const auto directive = directive_of(patch);
    if (directive == "replace") {
      target = without_directives(patch);
      return {};
    }
    if (directive == "delete") {
      target = JsonObject{};
      return {};
    }
    if (!directive.empty() && directive != "merge")
      return failed(bad_request(fmt::format("Unrecognized directive: {}", directive)));
    auto& members = target.get_object();
    const auto& changes = patch.get_object();
    if (const auto* retained = changes.if_contains(kRetain)) {
      if (!retained->is_array()) return failed(bad_request("retainKeys: expected a list"));
      retain(members, retained->get_array());
    }
    for (const auto& [key, change] : changes) {
      const std::string_view name = key;
      if (name.starts_with(kDelete)) {
        auto* list = members.if_contains(name.substr(kDelete.size()));
        if (list && list->is_array() && change.is_array())
          remove_all(list->get_array(), change.get_array());
        continue;
      }
      if (is_directive(name)) continue;
      const Field* field = schema ? schema->field(name) : nullptr;
      const Schema* below = field ? field->schema : schema ? schema->additional : nullptr;
      if (change.is_null()) {
        members.erase(name);
        continue;
      }
      if (change.is_object()) {
        if (directive_of(change) == "delete") {
          members.erase(name);
          continue;
        }
        if (auto done = object(members[name], change, below); !done) return done;
        continue;
      }
      if (change.is_array() && below && below->patch_merge) {
        if (auto done = list(members[name], change.get_array(), *below); !done) return done;
        continue;
      }
      members[name] = without_directives(change);
    }
    return order(members, changes, schema);
  }

  Result<void> list(Json& target, const JsonArray& patch, const Schema& schema) {
    if (!target.is_array()) target = JsonArray{};
    auto& items = target.get_array();
    if (schema.patch_key.empty()) {
      auto known = ids_of(items);
      for (const auto& item : patch)
        if (known.insert(canonical_json(item)).second) items.push_back(item);
      return {};
    }
    for (const auto& item : patch)
      if (directive_of(item) == "replace") {
        target = without_directives(Json(patch));
        return {};
      }
    KeyedItems keyed(items, schema.patch_key);
    for (const auto& item : patch) {
      if (!item.is_object()) return failed(bad_request("expected objects in a list merged by key"));
      const auto* key = key_of(item, schema.patch_key);
      if (!key)
        return failed(bad_request(fmt::format("map: {} does not contain declared merge key: {}",
                                              dump_json(item), schema.patch_key)));
      const auto id = canonical_json(*key);
      if (directive_of(item) == "delete") {
        keyed.remove(id);
      } else if (auto* own = keyed.first(id)) {
        if (auto done = object(*own, item, schema.items); !done) return done;
      } else {
        keyed.add(id, without_directives(item));
      }
    }
    keyed.settle();
    return {};
  }

  /// $setElementOrder/x: the items it names come in its order; others keep their place relative to
  /// the item before them.
  Result<void> order(JsonObject& members, const JsonObject& changes, const Schema* schema) {
    for (const auto& [key, wanted] : changes) {
      const std::string_view name = key;
      if (!name.starts_with(kOrder) || !wanted.is_array()) continue;
      const auto field_name = name.substr(kOrder.size());
      auto* list = members.if_contains(field_name);
      if (!list || !list->is_array()) continue;
      const Field* field = schema ? schema->field(field_name) : nullptr;
      const std::string merge_key = field ? field->schema->patch_key : std::string();
      const auto id = [&](const Json& item) -> std::optional<std::string> {
        const auto* own = merge_key.empty() ? &item : key_of(item, merge_key);
        return own ? std::optional(canonical_json(*own)) : std::nullopt;
      };
      std::unordered_map<std::string, std::size_t> ranks;
      for (std::size_t i = 0; i < wanted.get_array().size(); ++i)
        if (auto own = id(wanted.get_array()[i])) ranks.emplace(std::move(*own), i);
      std::vector<std::pair<std::size_t, std::size_t>> ranked;  // rank, place
      std::size_t last = 0;
      auto& items = list->get_array();
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (const auto own = id(items[i]); own && ranks.contains(*own)) last = ranks.at(*own);
        ranked.emplace_back(last, i);
      }
      std::ranges::sort(ranked);
      JsonArray sorted;
      for (const auto& [position, place] : ranked) sorted.push_back(std::move(items[place]));
      *list = std::move(sorted);
    }
    return {};
  }
};

}  // namespace

Result<void> strategic_merge(Json& target, const Json& patch, const Schema& schema) {
  if (!patch.is_object()) return failed(bad_request("error decoding patch: it must be an object"));
  return Merger{}.object(target, patch, &schema);
}

}  // namespace manta::local
