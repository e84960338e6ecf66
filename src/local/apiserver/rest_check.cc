// What an object must satisfy to be stored, whoever writes it.
#include "fmt/format.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/name_rules.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <algorithm>

namespace manta::local {
namespace {

/// The scale subresource reads this field as a number. Source: apiextensions-apiserver
/// customresource validateScaleSpec.
void check_scale_path(const Json& object, const std::vector<std::string>& steps,
                      FieldErrors& errors) {
  const Json* at = &object;
  std::string path;
  for (const auto& step : steps) {
    path += "." + step;
    if (!at->is_object() || !(at = at->get_object().if_contains(step))) return;
  }
  if (at->is_null()) return;
  if (!at->is_int64()) {
    const auto kind = at->is_string()   ? "string"
                      : at->is_double() ? "float64"
                      : at->is_bool()   ? "bool"
                                        : "object";
    errors.invalid(
        path, Json(0),
        fmt::format("{} accessor error: {} is of the type {}, expected int64", path,
                    at->is_string() ? std::string(at->get_string()) : dump_json(*at), kind));
  } else if (at->get_int64() < 0) {
    errors.invalid(path, *at, "should be a non-negative integer");
  }
}

/// The name of kinds whose names need only fit into a path.
void check_free_name(std::string_view name, FieldErrors& errors) {
  if (name.empty())
    errors.required("metadata.name", "name or generateName is required");
  else if (name == "." || name == "..")
    errors.invalid("metadata.name", Json(name), fmt::format("may not be '{}'", name));
  else if (name.find_first_of("/%") != name.npos)
    errors.invalid("metadata.name", Json(name),
                   fmt::format("may not contain '{}'", name.find('/') != name.npos ? '/' : '%'));
}

/// An object that is being deleted takes no new finalizers.
void check_finalizers(const Json& object, const Json& old, FieldErrors& errors) {
  if (!find(old, {"metadata", "deletionTimestamp"})) return;
  std::vector<std::string> added;
  const auto& before = array_at(old, {"metadata", "finalizers"});
  for (const auto& finalizer : array_at(object, {"metadata", "finalizers"}))
    if (std::find(before.begin(), before.end(), finalizer) == before.end() && finalizer.is_string())
      added.push_back(go_quote(finalizer.get_string()));
  if (added.empty()) return;
  errors.forbidden("metadata.finalizers",
                   fmt::format("no new finalizers can be added if the object is being deleted, "
                               "found new finalizers []string{{{}}}",
                               fmt::join(added, ", ")));
}

/// Rules may count on what these say, so they are not run after them.
bool keeps_from_rules(const FieldCause& cause) {
  return cause.reason == "FieldValueNotSupported" || cause.reason == "FieldValueRequired" ||
         cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" ||
         cause.reason == "FieldValueTypeInvalid";
}

void check_custom(const Kind& kind, const Json& object, const Json* old, FieldErrors& errors) {
  validate_structure(object, old, *kind.schema, errors);
  if (kind.crd->scale) check_scale_path(object, kind.crd->scale->spec_replicas, errors);
  if (std::ranges::none_of(errors.causes(), keeps_from_rules))
    validate_rules(object, old, *kind.schema, errors);
  else if (kind.schema->has_rules_below)
    errors.add("<nil>", "FieldValueInvalid",
               "Invalid value: null: some validation rules were not checked because the object was "
               "invalid; correct the existing errors to complete validation");
}

}  // namespace

Result<void> Rest::check_namespace(const Kind& kind, std::string_view namespace_,
                                   std::string_view name) {
  if (!kind.resource.namespaced) return {};
  const auto namespaces = kinds_.find("", "v1", "namespaces");
  auto found = read(*namespaces, "", namespace_);
  if (!found) return failed(found.error());
  if (!*found) return failed(not_found(namespaces->resource, namespace_));
  if (find(**found, {"metadata", "deletionTimestamp"})) {
    auto error = forbidden(kind.resource, name,
                           fmt::format("unable to create new content in namespace {} because it is "
                                       "being terminated",
                                       namespace_));
    error.causes.push_back({"metadata.namespace", "NamespaceTerminating",
                            fmt::format("namespace {} is being terminated", namespace_)});
    return failed(std::move(error));
  }
  return {};
}

Result<void> Rest::check_object(const Kind& kind, const Json& object, const Json* old) {
  FieldErrors errors;
  const auto& strategy = *kind.strategy;
  const std::string name(string_at(object, {"metadata", "name"}));
  if (strategy.free_name)
    check_free_name(name, errors);
  else
    validate_metadata(object, kind.resource.namespaced, strategy.name_is_label, errors);
  if (old) check_finalizers(object, *old, errors);
  if (strategy.validate) strategy.validate(object, errors);
  if (old && strategy.validate_update) strategy.validate_update(object, *old, errors);
  if (!kind.builtin() && kind.schema) check_custom(kind, object, old, errors);
  if (errors.empty()) return {};
  return failed(errors.to_error(kind.resource, name));
}

}  // namespace manta::local
