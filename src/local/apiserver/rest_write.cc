// Writing: create, update and what both end in.
#include "local/apiserver/apply.h"
#include "local/apiserver/conversion.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace manta::local {

JsonObject& metadata_of(Json& object) { return object_made_at(object, {"metadata"}); }

namespace {

/// Equal but for these members. Nothing is copied: most of a write's time would go into that.
bool same_without(const JsonObject& a, const JsonObject& b,
                  std::initializer_list<std::string_view> left_out) {
  const auto counts = [&](std::string_view name) {
    return std::ranges::find(left_out, name) == left_out.end();
  };
  std::size_t count = 0;
  for (const auto& [name, value] : a) {
    if (!counts(name)) continue;
    ++count;
    const auto* other = b.if_contains(name);
    if (!other || *other != value) return false;
  }
  return count == static_cast<std::size_t>(std::ranges::count_if(
                      b, [&](const auto& member) { return counts(member.key()); }));
}

/// What metadata.generation counts: everything but metadata and (where it is its own subresource)
/// status.
bool spec_differs(const Kind& kind, const Json& a, const Json& b) {
  const bool apart = kind.has_status || kind.builtin();
  return !same_without(a.get_object(), b.get_object(),
                       {"metadata", apart ? std::string_view("status") : "metadata"});
}

bool same_but_bookkeeping(const Json& a, const Json& b) {
  return same_without(object_at(a, {"metadata"}), object_at(b, {"metadata"}),
                      {"resourceVersion", "managedFields"}) &&
         same_without(a.get_object(), b.get_object(), {"metadata"});
}

/// The old state of a field, absence too.
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

/// The namespace of the URL and that of the body are one; either may be left out.
Result<void> settle_namespace(const Kind& kind, kube::Request& request, Json& object) {
  if (!kind.resource.namespaced) return {};
  const std::string own(string_at(object, {"metadata", "namespace"}));
  if (request.namespace_.empty()) request.namespace_ = own;
  if (!own.empty() && own != request.namespace_)
    return failed(bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"));
  metadata_of(object)["namespace"] = request.namespace_;
  return {};
}

/// These are stored like any other, but nothing here acts on them, and somebody would wait in vain.
void warn_of_idle_kind(const Kind& kind, const ApiServerOptions& options, Context& context) {
  constexpr std::array<std::string_view, 6> kIdle = {
      "deployments", "statefulsets",           "daemonsets",
      "replicasets", "replicationcontrollers", "cronjobs"};
  const auto& resource = kind.resource;
  if (const auto told = options.warnings.find(resource.plural + "." + resource.group);
      told != options.warnings.end())
    context.warnings.push_back(told->second);
  const bool of_workloads =
      resource.group.empty() || resource.group == "apps" || resource.group == "batch";
  if (!of_workloads || std::ranges::find(kIdle, resource.plural) == kIdle.end()) return;
  context.warnings.push_back(fmt::format(
      "no controller here runs {}s: it is stored, and no Pod comes of it", resource.kind));
}

/// There is an object of that name.
Error taken(const Kind& kind, std::string_view name, std::string_view stored, bool generated) {
  auto error = already_exists(kind.resource, name);
  if (auto there = parse_json(stored); there && find(*there, {"metadata", "deletionTimestamp"}))
    error.message = "object is being deleted: " + error.message;
  if (generated)
    error.message = fmt::format(
        "{}, the server was not able to generate a unique name for the object", error.message);
  return error;
}

/// The fields that only one side of the status divide may change.
void keep_other_half(const Kind& kind, Json& wanted, const Json& current,
                     std::string_view subresource) {
  auto& members = wanted.get_object();
  if (subresource == "status") {
    // Everything but status (and, for built-in kinds, labels and annotations) stays.
    Json kept = current;
    keep(kept.get_object(), members, "status");
    if (kind.builtin()) {
      auto& metadata = metadata_of(kept);
      for (const auto* field : {"labels", "annotations", "finalizers"})
        keep(metadata, object_at(wanted, {"metadata"}), field);
    }
    if (const auto* fields = find(wanted, {"metadata", "managedFields"}))
      metadata_of(kept)["managedFields"] = *fields;
    wanted = std::move(kept);
  } else if (kind.has_status) {
    keep(members, current.get_object(), "status");
  }
}

}  // namespace

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

  if (auto ok = settle_namespace(kind, request, object); !ok) return failed(ok.error());
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
  if (auto ok = check_object(kind, object, nullptr); !ok) return failed(ok.error());

  auto existing = store_.get(kind.key(request.namespace_, name));
  if (!existing) return failed(existing.error());
  if (*existing) return failed(taken(kind, name, (*existing)->text, generated));
  if (request.verb == kube::Verb::Create || request.verb == kube::Verb::Update)
    track_update(kind, Json(), object, request, context.caller, loop_.now());
  context.created = true;
  warn_of_idle_kind(kind, options(), context);
  return write(kind, std::move(object), request.dry_run);
}

Result<Json> Rest::update(const Kind& kind, kube::Request& request, Context& context) {
  if (auto ok = check_type(kind, request.body); !ok) return failed(ok.error());
  auto decoded = decode(kind, request.body, request, context);
  if (!decoded) return failed(decoded.error());
  Json wanted = std::move(*decoded);
  auto& metadata = metadata_of(wanted);
  if (auto ok = settle_namespace(kind, request, wanted); !ok) return failed(ok.error());
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

Result<Json> Rest::replace(const Kind& kind, Json current, Json wanted,
                           const kube::Request& request, Context& context) {
  auto& metadata = metadata_of(wanted);
  const auto& old_metadata = object_at(current, {"metadata"});
  const auto& name = request.name;

  if (const auto uid = string_at(wanted, {"metadata", "uid"});
      !uid.empty() && uid != string_at(current, {"metadata", "uid"}))
    return failed(immutable_uid(kind, request, uid, string_at(current, {"metadata", "uid"})));
  const std::string version(string_at(wanted, {"metadata", "resourceVersion"}));
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
  if (auto ok = check_object(kind, wanted, &current); !ok) return failed(ok.error());

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

}  // namespace manta::local
