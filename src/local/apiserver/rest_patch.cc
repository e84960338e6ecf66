// Patches: JSON, merge and strategic merge change the object here; apply.cc does server-side apply.
#include "fmt/format.h"
#include "local/apiserver/apply.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategic_merge.h"

namespace manta::local {
namespace {

Result<void> patch_json(Json& object, const Json& patch) {
  auto done = json_patch(object, patch);
  if (done) return {};
  auto error = done.error();
  error.causes.clear();
  if (error.code == ErrorCode::BadRequest) {
    error.http_status = 400;
  } else {
    // The server cannot apply it to this object: 422, without field causes.
    error.code = ErrorCode::Invalid;
    error.http_status = 422;
    error.message = "the server rejected our request due to an error in our request";
  }
  return failed(std::move(error));
}

Result<void> patch_merge(Json& object, const Json& patch) {
  if (!patch.is_object())
    return failed(bad_request(
        "error decoding patch: json: cannot unmarshal into Go value of type map[string]interface "
        "{}"));
  merge_patch(object, patch);
  return {};
}

Result<void> patch_strategic(Json& object, const Json& patch, const Kind& kind) {
  if (kind.builtin()) return strategic_merge(object, patch, *kind.schema);
  return failed(Error{.code = ErrorCode::UnsupportedMedia,
                      .message =
                          "the body of the request was in an unknown format - accepted media types "
                          "include: application/json-patch+json, application/merge-patch+json, "
                          "application/apply-patch+yaml",
                      .http_status = 415});
}

Result<void> apply_to(Json& object, const Kind& kind, const kube::Request& request) {
  switch (request.patch_type) {
    case kube::PatchType::Json:
      return patch_json(object, request.body);
    case kube::PatchType::Merge:
      return patch_merge(object, request.body);
    case kube::PatchType::Strategic:
      return patch_strategic(object, request.body, kind);
    case kube::PatchType::Apply:
      return {};  // Rest::patch() took it
  }
  return {};
}

}  // namespace

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
  if (auto ok = apply_to(result, kind, request); !ok) return failed(ok.error());
  if (!result.is_object()) return failed(bad_request("the patched object is no object"));
  if (auto ok = check_type(kind, result); !ok) return failed(ok.error());
  return decode(kind, result, request, context);
}

}  // namespace manta::local
