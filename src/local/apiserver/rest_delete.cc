// Deletion: preconditions, grace, finalizers, propagation; and collections.
#include "fmt/format.h"
#include "local/apiserver/conversion.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <algorithm>

namespace manta::local {
namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";

bool has_finalizer(const Json& object, std::string_view name) {
  return std::ranges::any_of(array_at(object, {"metadata", "finalizers"}), [&](const Json& entry) {
    return entry.is_string() && entry.get_string() == name;
  });
}

void set_finalizer(Json& object, std::string_view name, bool present) {
  auto& metadata = metadata_of(object);
  JsonArray kept;
  for (const auto& entry : array_at(object, {"metadata", "finalizers"}))
    if (!entry.is_string() || entry.get_string() != name) kept.push_back(entry);
  if (present) kept.push_back(Json(name));
  if (kept.empty())
    metadata.erase("finalizers");
  else
    metadata["finalizers"] = std::move(kept);
}

/// Returns true when the finalizers changed.
bool apply_propagation(Json& object, kube::Propagation propagation) {
  const auto before = array_at(object, {"metadata", "finalizers"});
  bool orphan = has_finalizer(object, kOrphan);
  bool foreground = has_finalizer(object, kForeground);
  switch (propagation) {
    case kube::Propagation::Default:
      break;  // what is there decides
    case kube::Propagation::Orphan:
      orphan = true, foreground = false;
      break;
    case kube::Propagation::Background:
      orphan = foreground = false;
      break;
    case kube::Propagation::Foreground:
      orphan = false, foreground = true;
      break;
  }
  if (orphan != has_finalizer(object, kOrphan)) set_finalizer(object, kOrphan, orphan);
  if (foreground != has_finalizer(object, kForeground))
    set_finalizer(object, kForeground, foreground);
  return before != array_at(object, {"metadata", "finalizers"});
}

/// Seconds that the node gets to stop a Pod; 0: nobody needs to act. Source: pod strategy
/// CheckGracefulDelete.
std::int64_t pod_grace(const Json& pod, const std::optional<std::int64_t>& asked) {
  if (string_at(pod, {"spec", "nodeName"}).empty()) return 0;
  const std::string phase(string_at(pod, {"status", "phase"}));
  if (phase == "Failed" || phase == "Succeeded") return 0;
  auto grace = asked ? *asked : int_at(pod, {"spec", "terminationGracePeriodSeconds"}, 30);
  return grace < 0 ? 1 : grace;
}

bool is_claim(const Kind& kind) {
  return kind.builtin() && kind.resource.plural == "persistentvolumeclaims";
}

}  // namespace

bool Rest::claim_in_use(const std::string& namespace_, const std::string& name) {
  kube::Request pods;
  pods.namespace_ = namespace_;
  auto page = list(*kinds_.find("", "v1", "pods"), pods);
  if (!page) return true;
  const auto needle = dump_json(Json(name));
  for (const auto& text : page->items) {
    if (text->find(needle) == text->npos) continue;
    auto pod = parse_json(*text);
    if (!pod) continue;
    const std::string phase(string_at(*pod, {"status", "phase"}));
    if (phase == "Succeeded" || phase == "Failed") continue;
    for (const auto& volume : array_at(*pod, {"spec", "volumes"}))
      if (string_at(volume, {"persistentVolumeClaim", "claimName"}) == name) return true;
  }
  return false;
}

void Rest::release_claims(const std::string& namespace_) {
  const auto claims = kinds_.find("", "v1", "persistentvolumeclaims");
  kube::Request request;
  request.namespace_ = namespace_;
  auto page = list(*claims, request);
  if (!page) return;
  for (const auto& text : page->items) {
    if (text->find("deletionTimestamp") == text->npos) continue;
    auto claim = parse_json(*text);
    if (!claim || !find(*claim, {"metadata", "deletionTimestamp"})) continue;
    bool deleted = false;
    (void)remove_object(*claims, std::move(*claim), request, deleted);
  }
}

Result<Json> Rest::erase(const Kind& kind, Json object, bool dry_run) {
  if (dry_run) return object;
  const auto name = std::string(string_at(object, {"metadata", "name"}));
  const auto key = kind.key(string_at(object, {"metadata", "namespace"}), name);
  Json last = object;
  metadata_of(last)["resourceVersion"] = std::to_string(store_.next_revision());
  auto erased = store_.erase(key, dump_json(to_storage(kind, std::move(last))));
  if (!erased) return failed(erased.error());
  after_write(kind, nullptr, name);
  if (kind.builtin() && kind.resource.group.empty() && kind.resource.plural == "pods")
    release_claims(std::string(string_at(object, {"metadata", "namespace"})));
  return object;
}

Result<Json> Rest::remove_object(const Kind& kind, Json object, const kube::Request& request,
                                 bool& deleted) {
  const auto name = std::string(string_at(object, {"metadata", "name"}));
  const std::string uid(string_at(object, {"metadata", "uid"}));
  const std::string version(string_at(object, {"metadata", "resourceVersion"}));
  auto named = kind.resource;
  named.plural = named.kind;  // the server names the kind here
  if (!request.precondition_uid.empty() && request.precondition_uid != uid)
    return failed(conflict(named, name,
                           fmt::format("the UID in the precondition ({}) does not match the UID in "
                                       "record ({}). The object might have been deleted and then "
                                       "recreated",
                                       request.precondition_uid, uid)));
  if (!request.precondition_resource_version.empty() &&
      request.precondition_resource_version != version)
    return failed(
        conflict(named, name,
                 fmt::format("the ResourceVersion in the precondition ({}) does not match "
                             "the ResourceVersion in record ({}). The object might have been "
                             "modified",
                             request.precondition_resource_version, version)));

  const Json before = object;
  auto& metadata = metadata_of(object);
  const bool is_pod =
      kind.builtin() && kind.resource.group.empty() && kind.resource.plural == "pods";
  const bool is_namespace =
      kind.builtin() && kind.resource.group.empty() && kind.resource.plural == "namespaces";
  const bool was_deleting = metadata.contains("deletionTimestamp");
  const std::int64_t grace = is_pod ? pod_grace(object, request.grace_period_seconds) : 0;
  auto propagation = request.propagation;
  const bool is_job = kind.builtin() && kind.resource.plural == "jobs";
  // batch/v1 keeps the old default: a Job's Pods are left alone unless the caller says otherwise.
  if (propagation == kube::Propagation::Default && is_job && !has_finalizer(object, kForeground))
    propagation = kube::Propagation::Orphan;
  apply_propagation(object, propagation);

  if (is_claim(kind) && has_finalizer(object, kClaimProtection) &&
      !claim_in_use(request.namespace_, name))
    set_finalizer(object, kClaimProtection, false);
  const bool finalizers = !array_at(object, {"metadata", "finalizers"}).empty() ||
                          (is_namespace && !array_at(object, {"spec", "finalizers"}).empty());
  deleted = false;
  if (grace > 0 || finalizers) {
    const auto old_grace = int_at(before, {"metadata", "deletionGracePeriodSeconds"});
    if (!was_deleting) {
      metadata["deletionTimestamp"] = format_rfc3339(loop_.now() + std::chrono::seconds{grace});
      metadata["deletionGracePeriodSeconds"] = grace;
      if (kind.strategy->generation)
        metadata["generation"] = int_at(before, {"metadata", "generation"}) + 1;
    } else if (grace < old_grace) {
      // Grace is only ever shortened, counted from when deletion began.
      auto began = parse_rfc3339(string_at(before, {"metadata", "deletionTimestamp"}));
      const auto start = (began ? *began : loop_.now()) - std::chrono::seconds{old_grace};
      metadata["deletionTimestamp"] = format_rfc3339(start + std::chrono::seconds{grace});
      metadata["deletionGracePeriodSeconds"] = grace;
    }
    if (is_namespace) object_made_at(object, {"status"})["phase"] = "Terminating";
    if (object == before) return object;
    return write(kind, std::move(object), request.dry_run);
  }
  if (is_pod) metadata["deletionGracePeriodSeconds"] = 0;
  deleted = true;
  return erase(kind, std::move(object), request.dry_run);
}

Result<Json> Rest::remove(const Kind& kind, const kube::Request& request, Context&) {
  auto current = read(kind, request.namespace_, request.name);
  if (!current) return failed(current.error());
  if (!*current) return failed(not_found(kind.resource, request.name));
  bool deleted = false;
  auto result = remove_object(kind, std::move(**current), request, deleted);
  if (!result || !deleted || kind.strategy->returns_deleted) return result;
  JsonObject details{{"name", request.name},
                     {"kind", kind.resource.plural},
                     {"uid", string_at(*result, {"metadata", "uid"})}};
  if (!kind.resource.group.empty()) details["group"] = kind.resource.group;
  return Json(JsonObject{{"kind", "Status"},
                         {"apiVersion", "v1"},
                         {"metadata", JsonObject{}},
                         {"status", "Success"},
                         {"details", std::move(details)}});
}

Result<Json> Rest::remove_collection(const Kind& kind, const kube::Request& request, Context&) {
  auto page = list(kind, request);
  if (!page) return failed(page.error());
  const Json document = list_document(kind, *page);
  for (const auto& item : array_at(document, {"items"})) {
    auto one = request;
    one.namespace_ = std::string(string_at(item, {"metadata", "namespace"}));
    one.name = std::string(string_at(item, {"metadata", "name"}));
    bool deleted = false;
    auto result = remove_object(kind, item, one, deleted);
    if (!result && result.error().code != ErrorCode::NotFound) return failed(result.error());
  }
  return document;
}

}  // namespace manta::local
