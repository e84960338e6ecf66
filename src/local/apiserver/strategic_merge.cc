#include "local/apiserver/strategic_merge.h"

#include "fmt/format.h"
#include "local/apiserver/field_errors.h"

#include <algorithm>
#include <optional>

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

void remove_all(JsonArray& list, const JsonArray& gone) {
  JsonArray kept;
  for (auto& item : list)
    if (std::ranges::find(gone, item) == gone.end()) kept.push_back(std::move(item));
  list = std::move(kept);
}

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
      JsonArray gone;
      for (const auto& [key, value] : members)
        if (std::ranges::find(retained->get_array(), Json(std::string(key))) ==
            retained->get_array().end())
          gone.push_back(Json(std::string(key)));
      for (const auto& key : gone) members.erase(key.get_string());
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
      for (const auto& item : patch)
        if (std::ranges::find(items, item) == items.end()) items.push_back(item);
      return {};
    }
    for (const auto& item : patch)
      if (directive_of(item) == "replace") {
        target = without_directives(Json(patch));
        return {};
      }
    for (const auto& item : patch) {
      if (!item.is_object()) return failed(bad_request("expected objects in a list merged by key"));
      const auto* key = key_of(item, schema.patch_key);
      if (!key)
        return failed(bad_request(fmt::format("map: {} does not contain declared merge key: {}",
                                              dump_json(item), schema.patch_key)));
      auto found = std::ranges::find_if(items, [&](const Json& own) {
        const auto* own_key = key_of(own, schema.patch_key);
        return own_key && *own_key == *key;
      });
      if (directive_of(item) == "delete") {
        while (found != items.end()) {
          items.erase(found);
          found = std::ranges::find_if(items, [&](const Json& own) {
            const auto* own_key = key_of(own, schema.patch_key);
            return own_key && *own_key == *key;
          });
        }
        continue;
      }
      if (found == items.end()) {
        items.push_back(without_directives(item));
        continue;
      }
      if (auto done = object(*found, item, schema.items); !done) return done;
    }
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
      auto rank = [&](const Json& item) -> std::optional<std::size_t> {
        const auto& order_list = wanted.get_array();
        for (std::size_t i = 0; i < order_list.size(); ++i) {
          if (merge_key.empty() ? order_list[i] == item
                                : key_of(order_list[i], merge_key) && key_of(item, merge_key) &&
                                      *key_of(order_list[i], merge_key) == *key_of(item, merge_key))
            return i;
        }
        return std::nullopt;
      };
      std::vector<std::pair<std::size_t, std::size_t>> ranked;  // rank, place
      std::size_t last = 0;
      auto& items = list->get_array();
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (auto own = rank(items[i])) last = *own;
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
