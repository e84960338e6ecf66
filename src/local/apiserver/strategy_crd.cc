// CustomResourceDefinitions as objects: their defaults, checks and status.
// Source: apiextensions-apiserver pkg/apis/apiextensions.
#include "base/text.h"
#include "fmt/format.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/crd_structural.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/name_rules.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <algorithm>
#include <set>

namespace manta::local {
namespace {

std::string storage_version(const Json& crd) {
  for (const auto& version : array_at(crd, {"spec", "versions"}))
    if (bool_at(version, {"storage"})) return std::string(string_at(version, {"name"}));
  return {};
}

/// What the real server's naming and establishing controllers would write a moment later.
void set_status(Rest& rest, Json& crd) {
  auto& status = object_made_at(crd, {"status"});
  status["acceptedNames"] = object_at(crd, {"spec", "names"});
  JsonArray stored = array_at(crd, {"status", "storedVersions"});
  const auto storage = storage_version(crd);
  if (std::find(stored.begin(), stored.end(), Json(storage)) == stored.end())
    stored.push_back(Json(storage));
  status["storedVersions"] = std::move(stored);
  if (!array_at(crd, {"status", "conditions"}).empty()) return;
  const auto now = format_rfc3339(rest.loop().now());
  auto condition = [&](std::string_view type, std::string_view reason, std::string_view message) {
    return JsonObject{{"type", type},
                      {"status", "True"},
                      {"lastTransitionTime", now},
                      {"reason", reason},
                      {"message", message}};
  };
  status["conditions"] = JsonArray{
      condition("NamesAccepted", "NoConflicts", "no conflicts found"),
      condition("Established", "InitialNamesAccepted", "the initial names have been accepted")};
}

}  // namespace

void default_crd(Json& crd) {
  auto& names = object_made_at(crd, {"spec", "names"});
  const auto kind = std::string(string_at(crd, {"spec", "names", "kind"}));
  set_default(names, "singular", Json(lower_case(kind)));
  if (!kind.empty()) set_default(names, "listKind", Json(kind + "List"));
  auto& spec = object_made_at(crd, {"spec"});
  set_default(spec, "conversion", JsonObject{{"strategy", "None"}});
}

Result<void> prepare_crd(Rest& rest, const Kind&, Json& crd) {
  set_status(rest, crd);
  // Deletion waits until the objects are gone: rest.cc, finish_crd.
  auto& metadata = metadata_of(crd);
  JsonArray finalizers = array_at(crd, {"metadata", "finalizers"});
  const Json cleanup("customresourcecleanup.apiextensions.k8s.io");
  if (std::find(finalizers.begin(), finalizers.end(), cleanup) == finalizers.end())
    finalizers.push_back(cleanup);
  metadata["finalizers"] = std::move(finalizers);
  return {};
}

void prepare_crd_update(Rest& rest, Json& crd, const Json& old) {
  set_status(rest, crd);
  // A client that replaces the whole object does not mean our own finalizer.
  const Json cleanup("customresourcecleanup.apiextensions.k8s.io");
  const auto& before = array_at(old, {"metadata", "finalizers"});
  if (std::find(before.begin(), before.end(), cleanup) == before.end()) return;
  JsonArray finalizers = array_at(crd, {"metadata", "finalizers"});
  if (std::find(finalizers.begin(), finalizers.end(), cleanup) == finalizers.end())
    finalizers.push_back(cleanup);
  metadata_of(crd)["finalizers"] = std::move(finalizers);
}

void validate_crd(const Json& crd, FieldErrors& errors) {
  const auto group = std::string(string_at(crd, {"spec", "group"}));
  const auto plural = std::string(string_at(crd, {"spec", "names", "plural"}));
  const auto name = string_at(crd, {"metadata", "name"});
  if (name != plural + "." + group)
    errors.invalid("metadata.name", Json(name), "must be spec.names.plural+\".\"+spec.group");
  if (group.empty())
    errors.required("spec.group");
  else if (auto why = check_dns1123_subdomain(group); !why.empty())
    errors.invalid("spec.group", Json(group), why);
  if (plural.empty()) errors.required("spec.names.plural");
  if (string_at(crd, {"spec", "names", "kind"}).empty()) errors.required("spec.names.kind");
  const auto scope = string_at(crd, {"spec", "scope"});
  if (scope.empty())
    errors.required("spec.scope");
  else if (scope != "Namespaced" && scope != "Cluster")
    errors.not_supported("spec.scope", Json(scope), {"Cluster", "Namespaced"});
  const auto& versions = array_at(crd, {"spec", "versions"});
  std::size_t storages = 0;
  std::set<std::string> seen;
  auto arena = std::make_shared<SchemaArena>();
  const auto schema_of = [](const Json& version) {
    return find(version, {"schema", "openAPIV3Schema"});
  };
  // A schema that all versions share is the definition's own, as in its first API version.
  const bool same_schema = std::ranges::all_of(versions, [&](const Json& version) {
    const auto *first = schema_of(versions.front()), *own = schema_of(version);
    return first && own && *first == *own;
  });
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto path = fmt::format("spec.versions[{}]", i);
    const auto version = std::string(string_at(versions[i], {"name"}));
    if (auto why = check_dns1035_label(version); !why.empty())
      errors.invalid(path + ".name", Json(version), why);
    if (!seen.insert(version).second)
      errors.invalid("spec.versions", Json(version), "must contain unique version names");
    if (bool_at(versions[i], {"storage"})) ++storages;
    const auto* schema = schema_of(versions[i]);
    if (!schema) {
      errors.required(path + ".schema.openAPIV3Schema", "schemas are required");
      continue;
    }
    if (same_schema && i > 0) continue;
    const auto at =
        same_schema ? "spec.validation.openAPIV3Schema" : path + ".schema.openAPIV3Schema";
    const auto before = errors.size();
    check_schema(*schema, at, errors);
    if (errors.size() == before) compile_schema(*schema, arena, at, errors);
  }
  if (storages != 1)
    errors.invalid("spec.versions", Json(JsonArray(versions)),
                   "must have exactly one version marked as storage version");
  if (const auto strategy = string_at(crd, {"spec", "conversion", "strategy"}); strategy != "None")
    errors.not_supported("spec.conversion.strategy", Json(strategy), {"None"});
}

void validate_crd_update(const Json& crd, const Json& old, FieldErrors& errors) {
  for (const auto* field : {"group", "scope"})
    if (string_at(crd, {"spec", field}) != string_at(old, {"spec", field}))
      errors.invalid(fmt::format("spec.{}", field), Json(string_at(crd, {"spec", field})),
                     "field is immutable");
  for (const auto* field : {"kind", "plural"})
    if (string_at(crd, {"spec", "names", field}) != string_at(old, {"spec", "names", field}))
      errors.invalid(fmt::format("spec.names.{}", field),
                     Json(string_at(crd, {"spec", "names", field})), "field is immutable");
  for (const auto& stored : array_at(crd, {"status", "storedVersions"})) {
    const auto is_stored = [&](const Json& version) {
      return Json(string_at(version, {"name"})) == stored;
    };
    if (std::ranges::any_of(array_at(crd, {"spec", "versions"}), is_stored)) continue;
    const auto name = stored.is_string() ? std::string(stored.get_string()) : dump_json(stored);
    errors.invalid(
        "status.storedVersions[0]", stored,
        fmt::format("missing from spec.versions; {0} was previously a storage version, and must "
                    "remain in spec.versions until a storage migration ensures no data remains "
                    "persisted in {0} and removes {0} from status.storedVersions",
                    name));
  }
}

}  // namespace manta::local
