#include "local/apiserver/apply.h"

#include "fmt/format.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/field_set.h"
#include "local/apiserver/json_edit.h"

#include <algorithm>
#include <map>

namespace manta::local {
namespace {

/// Owners of the whole may be owners of a part: an entry of metadata.managedFields.
struct Owner {
  std::string manager = {};
  std::string operation = {};  // Apply, Update
  std::string api_version = {};
  std::string subresource = {};
  std::string time = {};
  Json fields = JsonObject{};
};

std::vector<Owner> owners_of(const Json& object) {
  std::vector<Owner> owners;
  for (const auto& entry : array_at(object, {"metadata", "managedFields"})) {
    Owner owner;
    owner.manager = string_at(entry, {"manager"});
    owner.operation = string_at(entry, {"operation"});
    owner.api_version = string_at(entry, {"apiVersion"});
    owner.subresource = string_at(entry, {"subresource"});
    owner.time = string_at(entry, {"time"});
    owner.fields = Json(object_at(entry, {"fieldsV1"}));
    owners.push_back(std::move(owner));
  }
  return owners;
}

void write_owners(Json& object, const std::vector<Owner>& owners) {
  JsonArray entries;
  for (const auto& owner : owners) {
    if (owner.fields.get_object().empty()) continue;
    JsonObject entry{{"manager", owner.manager},        {"operation", owner.operation},
                     {"apiVersion", owner.api_version}, {"time", owner.time},
                     {"fieldsType", "FieldsV1"},        {"fieldsV1", owner.fields}};
    if (!owner.subresource.empty()) entry["subresource"] = owner.subresource;
    entries.push_back(std::move(entry));
  }
  auto& metadata = object_made_at(object, {"metadata"});
  if (entries.empty())
    metadata.erase("managedFields");
  else
    metadata["managedFields"] = std::move(entries);
}

Owner& owner_for(std::vector<Owner>& owners, std::string_view manager, std::string_view operation,
                 std::string_view subresource, const std::string& api_version) {
  auto found = std::ranges::find_if(owners, [&](const Owner& owner) {
    return owner.manager == manager && owner.operation == operation &&
           owner.subresource == subresource;
  });
  if (found != owners.end()) return *found;
  owners.push_back(
      {std::string(manager), std::string(operation), api_version, std::string(subresource)});
  return owners.back();
}

/// Those who update are told apart by the version that they wrote with.
std::string name_of(const Owner& owner) {
  auto name = fmt::format("\"{}\"", owner.manager);
  if (!owner.subresource.empty())
    name += fmt::format(" with subresource \"{}\"", owner.subresource);
  if (owner.operation == "Update") name += fmt::format(" using {}", owner.api_version);
  return name;
}

Error conflict_error(const std::map<std::string, std::vector<FieldPath>>& conflicts) {
  Error error{.code = ErrorCode::Conflict, .http_status = 409};
  std::size_t count = 0;
  std::string text;
  for (const auto& [who, paths] : conflicts) {
    count += paths.size();
    text += text.empty() ? "" : "\n";
    if (paths.size() == 1)
      text += fmt::format("conflict with {}: {}", who, path_text(paths.front()));
    else {
      text += fmt::format("conflicts with {}:", who);
      for (const auto& path : paths) text += fmt::format("\n- {}", path_text(path));
    }
    for (const auto& path : paths)
      error.causes.push_back(
          {path_text(path), "FieldManagerConflict", fmt::format("conflict with {}", who)});
  }
  error.message = count == 1 ? fmt::format("Apply failed with 1 conflict: {}", text)
                             : fmt::format("Apply failed with {} conflicts: {}", count, text);
  return error;
}

/// The core group has no name, but its slash.
Error wrong_type(std::string_view api_version, std::string_view kind) {
  const auto* slash = api_version.find('/') == api_version.npos ? "/" : "";
  return bad_request(fmt::format("invalid object type: {}{}, Kind={}", slash, api_version, kind));
}

bool owned_by_any(const std::vector<Owner>& owners, const FieldPath& path) {
  return std::ranges::any_of(owners,
                             [&](const Owner& owner) { return set_contains(owner.fields, path); });
}

}  // namespace

void track_update(const Kind& kind, const Json& old, Json& object, const kube::Request& request,
                  const Caller& caller, Time now) {
  auto owners = owners_of(object);
  if (owners.empty()) return;  // nobody has applied it; see apply.h
  if (request.subresource == "scale") return;
  const auto before = old.is_null() ? Json(JsonObject{}) : fields_of(old, kind.schema);
  const auto after = fields_of(object, kind.schema);
  std::vector<FieldPath> changed, gone;
  PathReader old_values(old, kind.schema), values(object, kind.schema);
  for (const auto& path : members_of(after)) {
    const auto* a = old.is_null() ? nullptr : old_values.at(path);
    const auto* b = values.at(path);
    const bool item = !path.empty() && path.back().starts_with("k:");
    if (!a || (!item && b && *a != *b)) changed.push_back(path);
  }
  for (const auto& path : members_of(before))
    if (!values.at(path)) gone.push_back(path);
  if (changed.empty() && gone.empty()) return;
  for (auto& owner : owners) {
    for (const auto& path : changed) set_remove(owner.fields, path);
    for (const auto& path : gone) set_remove(owner.fields, path);
  }
  if (!changed.empty()) {
    auto manager = request.field_manager.empty()
                       ? caller.user_agent.substr(0, caller.user_agent.find('/'))
                       : request.field_manager;
    auto& own =
        owner_for(owners, manager, "Update", request.subresource, kind.resource.api_version());
    own.time = format_rfc3339(now);
    for (const auto& path : changed) set_add(own.fields, path);
  }
  write_owners(object, owners);
}

bool same_managers(const Json& a, const Json& b) {
  auto plain = [](const Json& object) {
    JsonArray entries;
    for (const auto& entry : array_at(object, {"metadata", "managedFields"})) {
      Json copy = entry;
      if (copy.is_object()) copy.get_object().erase("time");
      entries.push_back(Json(canonical_json(copy)));
    }
    return entries;
  };
  return plain(a) == plain(b);
}

Result<Json> apply_patch(Rest& rest, const Kind& kind, const Json* current, kube::Request& request,
                         Context& context) {
  if (request.field_manager.empty()) {
    FieldErrors errors;
    errors.required("fieldManager", "is required for apply patch");
    return failed(errors.to_error({"meta.k8s.io", "v1", "", "PatchOptions"}, ""));
  }
  Json applied = request.body;
  if (!applied.is_object())
    return failed(bad_request("error decoding YAML: the patch must be an object"));
  if (string_at(applied, {"apiVersion"}) != kind.resource.api_version() ||
      string_at(applied, {"kind"}) != kind.resource.kind)
    return failed(wrong_type(string_at(applied, {"apiVersion"}), string_at(applied, {"kind"})));
  if (find(applied, {"metadata", "managedFields"}))
    return failed(bad_request("metadata.managedFields must be nil"));
  const auto name = string_at(applied, {"metadata", "name"});
  if (!name.empty() && name != request.name)
    return failed(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    request.name)));
  auto& metadata = object_made_at(applied, {"metadata"});
  metadata["name"] = request.name;
  if (kind.resource.namespaced && string_at(applied, {"metadata", "namespace"}).empty())
    metadata["namespace"] = request.namespace_;
  if (request.subresource == "status") {
    // Only status can be applied here; the rest is context.
    Json only = JsonObject{{"apiVersion", string_at(applied, {"apiVersion"})},
                           {"kind", string_at(applied, {"kind"})},
                           {"metadata", JsonObject{{"name", request.name}}}};
    if (const auto* status = find(applied, {"status"})) only.get_object()["status"] = *status;
    if (kind.resource.namespaced)
      object_made_at(only, {"metadata"})["namespace"] = request.namespace_;
    applied = std::move(only);
  } else if (kind.has_status) {
    applied.get_object().erase("status");
  }

  const auto wanted = fields_of(applied, kind.schema);
  const auto now = format_rfc3339(rest.loop().now());
  std::vector<Owner> owners = current ? owners_of(*current) : std::vector<Owner>{};
  if (current && owners.empty()) {
    Owner before{"before-first-apply", "Update", kind.resource.api_version(), "", now};
    before.fields = fields_of(*current, kind.schema);
    owners.push_back(std::move(before));
  }

  // Who else holds what this would change?
  std::map<std::string, std::vector<FieldPath>> conflicts;
  PathReader applied_values(applied, kind.schema),
      live_values(current ? *current : applied, kind.schema);
  for (const auto& path : members_of(wanted)) {
    const auto* mine = applied_values.at(path);
    const auto* live = current ? live_values.at(path) : nullptr;
    const bool item = path.back().starts_with("k:");
    if (!live || !mine || item || *live == *mine) continue;
    for (auto& owner : owners) {
      if ((owner.manager == request.field_manager && owner.operation == "Apply") ||
          !set_contains(owner.fields, path))
        continue;
      if (request.force)
        set_remove(owner.fields, path);
      else
        conflicts[name_of(owner)].push_back(path);
    }
  }
  if (!conflicts.empty()) return failed(conflict_error(conflicts));

  Json merged = current ? *current : applied;
  auto& own = owner_for(owners, request.field_manager, "Apply", request.subresource,
                        kind.resource.api_version());
  const Json had = own.fields;
  own.fields = wanted;
  own.time = now;
  own.api_version = kind.resource.api_version();
  if (current) {
    const auto version = std::string(string_at(applied, {"metadata", "resourceVersion"}));
    merge_applied(merged, applied, kind.schema);
    if (!version.empty()) metadata_of(merged)["resourceVersion"] = version;
    // What this manager gave up and nobody else holds goes.
    Json released(JsonObject{});
    for (const auto& path : members_of(had))
      if (!set_contains(wanted, path) && !owned_by_any(owners, path)) set_add(released, path);
    remove_members(merged, released, kind.schema);
  }
  write_owners(merged, owners);
  request.body = std::move(merged);
  if (!current) return rest.create(kind, request, context);
  auto decoded = rest.decode(kind, request.body, request, context);
  if (!decoded) return failed(decoded.error());
  return rest.replace(kind, *current, std::move(*decoded), request, context);
}

}  // namespace manta::local
