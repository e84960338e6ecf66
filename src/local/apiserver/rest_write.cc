// Writing: create, update, patch and what they share.
#include "base/json.h"
#include "fmt/format.h"
#include "local/apiserver/apply.h"
#include "local/apiserver/conversion.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/decode.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategic_merge.h"
#include "local/apiserver/strategy.h"

#include <algorithm>

namespace manta::local {

JsonObject& metadata_of(Json& object) { return object_made_at(object, {"metadata"}); }

namespace {

std::string version_text(const Kind& kind) { return kind.resource.api_version(); }

/// "Pod in version "v1" cannot be handled as a Pod: …"
Error cannot_handle(const Kind& kind, std::string_view why) {
  return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}",
                                 kind.resource.kind, kind.resource.version, kind.resource.kind,
                                 why));
}

/// apiVersion and kind must be those of the collection.
Result<void> check_type(const Kind& kind, const Json& body) {
  if (!body.is_object())
    return failed(bad_request(fmt::format(
        "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json "
        "parse error: json: cannot unmarshal {} into Go value of type "
        "struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
        "\"json:\\\"kind,omitempty\\\"\" }}",
        kind.resource.kind,
        body.is_array()    ? "array"
        : body.is_string() ? "string"
                           : "number")));
  const auto wanted = version_text(kind);
  const auto version = string_at(body, {"apiVersion"});
  const auto name = string_at(body, {"kind"});
  if (!kind.builtin()) {
    for (const auto& [field, label] : {std::pair{name, "Kind"}, std::pair{version, "apiVersion"}})
      if (field.empty())
        return failed(
            bad_request(fmt::format("the object provided is unrecognized (must be of type {}): "
                                    "Object '{}' is missing in '{}' "
                                    "({})",
                                    kind.resource.kind, label, dump_json(body), dump_json(body))));
  }
  if (!version.empty() && version != wanted)
    return failed(bad_request(
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    version, wanted)));
  if (!name.empty() && name != kind.resource.kind && !kind.builtin()) {
    FieldErrors errors;
    errors.invalid("kind", Json(name), fmt::format("must be {}", kind.resource.kind));
    auto named = kind.resource;
    named.kind = std::string(name);
    return failed(errors.to_error(named, string_at(body, {"metadata", "name"})));
  }
  if (!name.empty() && name != kind.resource.kind)
    return failed(bad_request(fmt::format(
        "{} in version \"{}\" cannot be handled as a {}: converting (v1.{}) to (core.{}): unknown "
        "conversion",
        name, kind.resource.version, kind.resource.kind, name, kind.resource.kind)));
  return {};
}

/// What metadata.generation counts: everything but metadata and (where it is its own subresource)
/// status.
bool spec_differs(const Kind& kind, const Json& a, const Json& b) {
  auto bare = [&](const Json& object) {
    Json copy = object;
    auto& members = copy.get_object();
    members.erase("metadata");
    if (kind.has_status || kind.builtin()) members.erase("status");
    return copy;
  };
  return bare(a) != bare(b);
}

bool same_but_bookkeeping(const Json& a, const Json& b) {
  auto bare = [](const Json& object) {
    Json copy = object;
    auto& metadata = metadata_of(copy);
    metadata.erase("resourceVersion");
    metadata.erase("managedFields");
    return copy;
  };
  return bare(a) == bare(b);
}

void keep(JsonObject& metadata, const JsonObject& old, std::string_view field) {
  if (const auto* value = old.if_contains(field))
    metadata[field] = *value;
  else
    metadata.erase(field);
}

/// A PUT names another object by its uid: a conflict. A patch that changes it breaks a rule.
Error immutable_uid(const Kind& kind, const kube::Request& request, std::string_view wanted,
                    std::string_view current) {
  if (request.verb == kube::Verb::Patch) {
    FieldErrors errors;
    errors.invalid("metadata.uid", Json(wanted), "field is immutable");
    return errors.to_error(kind.resource, request.name);
  }
  return conflict(
      kind.resource, request.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, "
                  "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object "
                  "meta: {}",
                  kind.key(request.namespace_, request.name), wanted, current));
}

void warn_unknown(const std::vector<std::string>& unknown, Context& context) {
  for (const auto& path : unknown)
    context.warnings.push_back(fmt::format("unknown field {}", go_quote(path)));
}

}  // namespace

Result<Json> Rest::decode(const Kind& kind, const Json& body, const kube::Request& request,
                          Context& context) {
  std::vector<std::string> unknown;
  Json object;
  if (kind.builtin()) {
    auto decoded = decode_builtin(body, *kind.schema, unknown);
    if (!decoded) return failed(cannot_handle(kind, decoded.error().message));
    object = std::move(*decoded);
  } else {
    object = body;
    if (!object.is_object()) return failed(bad_request("the object is not a JSON object"));
    if (auto* metadata = object.get_object().if_contains("metadata");
        metadata && !metadata->is_null()) {
      std::vector<std::string> dropped;
      auto decoded = decode_builtin(*metadata, *types_.find("meta.v1.ObjectMeta"), dropped);
      if (!decoded)
        return failed(
            bad_request(fmt::format("unable to decode metadata: {}", decoded.error().message)));
      for (auto& path : dropped) unknown.push_back("metadata." + path);
      *metadata = std::move(*decoded);
    }
    if (kind.schema) {
      prune(object, *kind.schema, unknown);
      std::ranges::sort(unknown);
      apply_defaults(object, *kind.schema);
    }
  }
  auto& members = object.get_object();
  members["apiVersion"] = version_text(kind);
  members["kind"] = kind.resource.kind;
  object_made_at(object, {"metadata"});
  if (!unknown.empty() && request.field_validation != "Ignore") {
    if (request.field_validation == "Strict") {
      std::string list;
      for (const auto& path : unknown)
        list += fmt::format("{}unknown field {}", list.empty() ? "" : ", ", go_quote(path));
      return failed(cannot_handle(kind, "strict decoding error: " + list));
    }
    warn_unknown(unknown, context);
  }
  return object;
}

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

/// The scale subresource reads this field as a number. Source: apiextensions-apiserver
/// customresource validateScaleSpec.
static void check_scale_path(const Json& object, const std::vector<std::string>& steps,
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

/// Everything that a stored object must satisfy, whoever wrote it.
Result<void> Rest::check_new(const Kind& kind, const Json& object, const Json* old) {
  FieldErrors errors;
  const auto& strategy = *kind.strategy;
  if (strategy.free_name) {
    const auto name = string_at(object, {"metadata", "name"});
    if (name.empty())
      errors.required("metadata.name", "name or generateName is required");
    else if (name == "." || name == "..")
      errors.invalid("metadata.name", Json(name), fmt::format("may not be '{}'", name));
    else if (name.find_first_of("/%") != name.npos)
      errors.invalid("metadata.name", Json(name),
                     fmt::format("may not contain '{}'", name.find('/') != name.npos ? '/' : '%'));
  } else {
    validate_metadata(object, kind.resource.namespaced, strategy.name_is_label, errors);
  }
  if (old && find(*old, {"metadata", "deletionTimestamp"})) {
    std::vector<std::string> added;
    const auto& before = array_at(*old, {"metadata", "finalizers"});
    for (const auto& finalizer : array_at(object, {"metadata", "finalizers"}))
      if (std::find(before.begin(), before.end(), finalizer) == before.end() &&
          finalizer.is_string())
        added.emplace_back(finalizer.get_string());
    if (!added.empty()) {
      std::string list;
      for (const auto& name : added) list += (list.empty() ? "" : ", ") + go_quote(name);
      errors.forbidden("metadata.finalizers",
                       fmt::format("no new finalizers can be added if the object is being deleted, "
                                   "found new finalizers []string{{{}}}",
                                   list));
    }
  }
  if (strategy.validate) strategy.validate(object, errors);
  if (old && strategy.validate_update) strategy.validate_update(object, *old, errors);
  if (!kind.builtin() && kind.schema) {
    validate_structure(object, old, *kind.schema, errors);
    if (kind.crd->scale) check_scale_path(object, kind.crd->scale->spec_replicas, errors);
    const bool blocking = std::ranges::any_of(errors.causes(), [](const FieldCause& cause) {
      return cause.reason == "FieldValueNotSupported" || cause.reason == "FieldValueRequired" ||
             cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" ||
             cause.reason == "FieldValueTypeInvalid";
    });
    if (!blocking)
      validate_rules(object, old, *kind.schema, errors);
    else if (kind.schema->has_rules_below)
      errors.add(
          "<nil>", "FieldValueInvalid",
          "Invalid value: null: some validation rules were not checked because the object was "
          "invalid; correct the existing errors to complete validation");
  }
  if (errors.empty()) return {};
  return failed(errors.to_error(kind.resource, string_at(object, {"metadata", "name"})));
}

Result<Json> Rest::write(const Kind& kind, Json object, bool dry_run) {
  auto& metadata = metadata_of(object);
  if (dry_run) return object;
  metadata["resourceVersion"] = std::to_string(store_.next_revision());
  const auto name = std::string(string_at(object, {"metadata", "name"}));
  const auto key = kind.key(string_at(object, {"metadata", "namespace"}), name);
  auto text = stored_as_is(kind) ? dump_json(object) : dump_json(to_storage(kind, object));
  // etcd's limit on one request is 1.5 MiB and clients count on being told.
  if (text.size() > (3 << 20))
    return failed(Error{.code = ErrorCode::TooLarge,
                        .message = fmt::format("Request entity too large: limit is {}", 3 << 20),
                        .http_status = 413});
  auto revision = store_.put(key, std::move(text));
  if (!revision) return failed(revision.error());
  after_write(kind, &object, name);
  return object;
}

Result<Json> Rest::create(const Kind& kind, kube::Request& request, Context& context) {
  if (auto ok = check_type(kind, request.body); !ok) return failed(ok.error());
  auto decoded = decode(kind, request.body, request, context);
  if (!decoded) return failed(decoded.error());
  Json object = std::move(*decoded);
  auto& metadata = metadata_of(object);

  const auto own_namespace = string_at(object, {"metadata", "namespace"});
  if (kind.resource.namespaced) {
    if (request.namespace_.empty()) request.namespace_ = own_namespace;
    if (!own_namespace.empty() && own_namespace != request.namespace_)
      return failed(bad_request(
          "the namespace of the provided object does not match the namespace sent on the request"));
    metadata["namespace"] = request.namespace_;
  }
  const auto base = std::string(string_at(object, {"metadata", "generateName"}));
  bool generated = false;
  if (string_at(object, {"metadata", "name"}).empty() && !base.empty()) {
    generated = true;
    metadata["name"] = base.substr(0, 58) + random_suffix(random_, 5);
  }
  const auto name = std::string(string_at(object, {"metadata", "name"}));
  if (const auto version = string_at(object, {"metadata", "resourceVersion"}); !version.empty())
    return failed(Error{.code = ErrorCode::Internal,
                        .message = "resourceVersion should not be set on objects to be created",
                        .http_status = 500});
  if (auto ok = check_namespace(kind, request.namespace_, name); !ok) return failed(ok.error());

  for (const auto* field :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"})
    metadata.erase(field);
  metadata["uid"] = random_uuid(random_);
  metadata["creationTimestamp"] = format_rfc3339(loop_.now());
  const auto& strategy = *kind.strategy;
  if (strategy.generation) metadata["generation"] = 1;
  if (kind.has_status && kind.resource.plural != "nodes") object.get_object().erase("status");

  if (strategy.defaults) strategy.defaults(object);
  if (strategy.prepare_create)
    if (auto ok = strategy.prepare_create(*this, kind, object); !ok) return failed(ok.error());
  if (!kind.builtin() && kind.schema) apply_defaults(object, *kind.schema);
  if (auto ok = check_new(kind, object, nullptr); !ok) return failed(ok.error());

  auto existing = store_.get(kind.key(request.namespace_, name));
  if (!existing) return failed(existing.error());
  if (*existing) {
    auto error = already_exists(kind.resource, name);
    if (auto there = parse_json((*existing)->text);
        there && find(*there, {"metadata", "deletionTimestamp"}))
      error.message = "object is being deleted: " + error.message;
    if (generated)
      error.message = fmt::format(
          "{}, the server was not able to generate a unique name for the object", error.message);
    return failed(std::move(error));
  }
  if (request.verb == kube::Verb::Create || request.verb == kube::Verb::Update)
    track_update(kind, Json(), object, request, context.caller, loop_.now());
  context.created = true;
  return write(kind, std::move(object), request.dry_run);
}

Result<Json> Rest::update(const Kind& kind, kube::Request& request, Context& context) {
  if (auto ok = check_type(kind, request.body); !ok) return failed(ok.error());
  auto decoded = decode(kind, request.body, request, context);
  if (!decoded) return failed(decoded.error());
  Json wanted = std::move(*decoded);
  auto& metadata = metadata_of(wanted);
  const auto own_namespace = string_at(wanted, {"metadata", "namespace"});
  if (kind.resource.namespaced) {
    if (request.namespace_.empty()) request.namespace_ = own_namespace;
    if (!own_namespace.empty() && own_namespace != request.namespace_)
      return failed(bad_request(
          "the namespace of the provided object does not match the namespace sent on the request"));
    metadata["namespace"] = request.namespace_;
  }
  const auto own_name = std::string(string_at(wanted, {"metadata", "name"}));
  if (request.name.empty()) request.name = own_name;
  if (own_name.empty())
    return failed(bad_request("the name of the object (metadata.name) must be set"));
  if (own_name != request.name)
    return failed(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", own_name,
                    request.name)));
  auto current = read(kind, request.namespace_, request.name);
  if (!current) return failed(current.error());
  if (!*current) {
    if (!kind.strategy->create_on_update || !request.subresource.empty())
      return failed(not_found(kind.resource, request.name));
    metadata.erase("resourceVersion");
    request.body = std::move(wanted);
    return create(kind, request, context);
  }
  if (string_at(wanted, {"metadata", "resourceVersion"}).empty() &&
      !kind.strategy->unconditional_update) {
    FieldErrors errors;
    errors.invalid("metadata.resourceVersion", Json(0), "must be specified for an update");
    auto named = kind.resource;
    if (!kind.builtin()) named.kind = named.plural;
    return failed(errors.to_error(named, request.name));
  }
  return replace(kind, std::move(**current), std::move(wanted), request, context);
}

/// The fields that only one side of the status divide may change.
static void keep_other_half(const Kind& kind, Json& wanted, const Json& current,
                            std::string_view subresource) {
  auto& members = wanted.get_object();
  const auto& old = current.get_object();
  if (subresource == "status") {
    // Everything but status (and, for built-in kinds, labels and annotations) stays.
    Json kept = current;
    auto& kept_members = kept.get_object();
    if (auto* status = members.if_contains("status"))
      kept_members["status"] = std::move(*status);
    else
      kept_members.erase("status");
    if (kind.builtin()) {
      auto& metadata = metadata_of(kept);
      for (const auto* field : {"labels", "annotations", "finalizers"}) {
        if (const auto* value = find(wanted, {"metadata", field}))
          metadata[field] = *value;
        else
          metadata.erase(field);
      }
    }
    if (const auto* fields = find(wanted, {"metadata", "managedFields"}))
      metadata_of(kept)["managedFields"] = *fields;
    wanted = std::move(kept);
  } else if (kind.has_status) {
    if (const auto* status = old.if_contains("status"))
      members["status"] = *status;
    else
      members.erase("status");
  }
}

Result<Json> Rest::replace(const Kind& kind, Json current, Json wanted,
                           const kube::Request& request, Context& context) {
  auto& metadata = metadata_of(wanted);
  const auto& old_metadata = object_at(current, {"metadata"});
  const auto& name = request.name;

  if (const auto uid = string_at(wanted, {"metadata", "uid"});
      !uid.empty() && uid != string_at(current, {"metadata", "uid"}))
    return failed(immutable_uid(kind, request, uid, string_at(current, {"metadata", "uid"})));
  const auto version = string_at(wanted, {"metadata", "resourceVersion"});
  if (!version.empty() && version != "0" &&
      version != string_at(current, {"metadata", "resourceVersion"}))
    return failed(object_modified(kind.resource, name));

  for (const auto* field :
       {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
        "selfLink", "generateName", "resourceVersion"})
    keep(metadata, old_metadata, field);
  if (!metadata.contains("managedFields"))
    keep(metadata, old_metadata, "managedFields");
  else if (array_at(wanted, {"metadata", "managedFields"}).empty())
    metadata.erase("managedFields");
  keep_other_half(kind, wanted, current, request.subresource);

  const auto& strategy = *kind.strategy;
  if (strategy.defaults) strategy.defaults(wanted);
  if (request.subresource.empty() && strategy.prepare_update)
    strategy.prepare_update(*this, wanted, current);
  if (!kind.builtin() && kind.schema) apply_defaults(wanted, *kind.schema);
  if (strategy.generation && request.subresource != "status" && spec_differs(kind, wanted, current))
    metadata_of(wanted)["generation"] = int_at(current, {"metadata", "generation"}) + 1;
  if (auto ok = check_new(kind, wanted, &current); !ok) return failed(ok.error());

  const bool bookkeeping_only = same_but_bookkeeping(wanted, current);
  if (request.patch_type != kube::PatchType::Apply || request.verb != kube::Verb::Patch) {
    if (!bookkeeping_only)
      track_update(kind, current, wanted, request, context.caller, loop_.now());
  }
  // Nothing changed: no new revision, no event. Apply may still change who owns what.
  if (bookkeeping_only && same_managers(wanted, current)) return current;
  if (find(wanted, {"metadata", "deletionTimestamp"}) &&
      array_at(wanted, {"metadata", "finalizers"}).empty() &&
      int_at(wanted, {"metadata", "deletionGracePeriodSeconds"}) == 0 &&
      array_at(wanted, {"spec", "finalizers"}).empty())
    return erase(kind, std::move(wanted), request.dry_run);
  return write(kind, std::move(wanted), request.dry_run);
}

Result<Json> Rest::patch(const Kind& kind, kube::Request& request, Context& context) {
  auto current = read(kind, request.namespace_, request.name);
  if (!current) return failed(current.error());
  if (request.patch_type == kube::PatchType::Apply) {
    if (!*current && !request.subresource.empty())
      return failed(not_found(kind.resource, request.name));
    return apply_patch(*this, kind, *current ? &**current : nullptr, request, context);
  }
  if (!*current) return failed(not_found(kind.resource, request.name));
  auto changed = patched(kind, **current, request, context);
  if (!changed) return failed(changed.error());
  if (string_at(*changed, {"metadata", "name"}) != request.name) {
    return failed(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    string_at(*changed, {"metadata", "name"}), request.name)));
  }
  return replace(kind, std::move(**current), std::move(*changed), request, context);
}

Result<Json> Rest::patched(const Kind& kind, const Json& current, const kube::Request& request,
                           Context& context) {
  Json result = current;
  switch (request.patch_type) {
    case kube::PatchType::Json: {
      auto done = json_patch(result, request.body);
      if (!done) {
        auto error = done.error();
        // The server cannot apply it to this object: 422, without field causes.
        error.code =
            error.code == ErrorCode::BadRequest ? ErrorCode::BadRequest : ErrorCode::Invalid;
        error.http_status = error.code == ErrorCode::BadRequest ? 400 : 422;
        if (error.code == ErrorCode::Invalid)
          error.message = "the server rejected our request due to an error in our request";
        error.causes.clear();
        return failed(std::move(error));
      }
      break;
    }
    case kube::PatchType::Merge:
      if (!request.body.is_object())
        return failed(
            bad_request("error decoding patch: json: cannot unmarshal into Go value of type "
                        "map[string]interface {}"));
      merge_patch(result, request.body);
      break;
    case kube::PatchType::Strategic: {
      if (!kind.builtin())
        return failed(Error{.code = ErrorCode::UnsupportedMedia,
                            .message =
                                "the body of the request was in an unknown format - accepted "
                                "media types include: application/json-patch+json, "
                                "application/merge-patch+json, application/apply-patch+yaml",
                            .http_status = 415});
      auto done = strategic_merge(result, request.body, *kind.schema);
      if (!done) return failed(done.error());
      break;
    }
    case kube::PatchType::Apply:
      break;  // patch() took it
  }
  if (!result.is_object()) return failed(bad_request("the patched object is no object"));
  if (auto ok = check_type(kind, result); !ok) return failed(ok.error());
  return decode(kind, result, request, context);
}

}  // namespace manta::local
