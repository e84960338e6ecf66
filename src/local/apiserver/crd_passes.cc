// Pruning and defaulting of custom objects. Source: apiextensions-apiserver pkg/apiserver/schema.
#include "fmt/format.h"
#include "local/apiserver/crd.h"

namespace manta::local {
namespace {

std::string child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void prune_value(Json& value, const Schema& schema, const std::string& path, bool root,
                 std::vector<std::string>& removed) {
  if (value.is_array()) {
    if (!schema.items) return;
    std::size_t index = 0;
    for (auto& item : value.get_array())
      prune_value(item, *schema.items, fmt::format("{}[{}]", path, index++), false, removed);
    return;
  }
  if (!value.is_object()) return;
  const bool resource = root || schema.embedded_resource;
  std::vector<std::string> gone;
  for (auto& [key, member] : value.get_object()) {
    const std::string_view name = key;
    if (resource && (name == "apiVersion" || name == "kind" || name == "metadata")) continue;
    if (const auto* field = schema.field(name)) {
      prune_value(member, *field->schema, child(path, name), false, removed);
    } else if (schema.additional) {
      prune_value(member, *schema.additional, child(path, name), false, removed);
    } else if (!schema.preserve_unknown) {
      gone.emplace_back(name);
    }
  }
  for (const auto& name : gone) {
    value.get_object().erase(name);
    removed.push_back(child(path, name));
  }
}

void default_value(Json& value, const Schema& schema) {
  if (value.is_object()) {
    auto& members = value.get_object();
    for (const auto& field : schema.fields) {
      auto* member = members.if_contains(field.name);
      const bool has_default = field.schema->limits && field.schema->limits->default_;
      if (has_default && (!member || (member->is_null() && !field.schema->nullable))) {
        members[field.name] = *field.schema->limits->default_;
        member = members.if_contains(field.name);
      } else if (member && member->is_null() && !field.schema->nullable) {
        members.erase(field.name);  // as if it had not been sent
        continue;
      }
      if (member) default_value(*member, *field.schema);
    }
    if (schema.additional)
      for (auto& [key, member] : members) {
        if (schema.field(key)) continue;
        if (member.is_null() && !schema.additional->nullable && schema.additional->limits &&
            schema.additional->limits->default_)
          member = *schema.additional->limits->default_;
        default_value(member, *schema.additional);
      }
  } else if (value.is_array() && schema.items) {
    for (auto& item : value.get_array()) {
      if (item.is_null() && !schema.items->nullable && schema.items->limits &&
          schema.items->limits->default_)
        item = *schema.items->limits->default_;
      default_value(item, *schema.items);
    }
  }
}

}  // namespace

void prune(Json& object, const Schema& schema, std::vector<std::string>& removed) {
  prune_value(object, schema, "", true, removed);
}

void apply_defaults(Json& object, const Schema& schema) { default_value(object, schema); }

}  // namespace manta::local
