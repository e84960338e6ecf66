#include "local/apiserver/apply.h"

#include "local/apiserver/field_errors.h"

namespace manta::local {

void track_update(const Kind&, const Json&, Json&, const kube::Request&, const Caller&, Time) {}

bool same_managers(const Json& a, const Json& b) {
  const auto* x = find(a, {"metadata", "managedFields"});
  const auto* y = find(b, {"metadata", "managedFields"});
  return x && y ? *x == *y : x == y;
}

Result<Json> apply_patch(Rest&, const Kind&, const Json*, kube::Request&, Context&) {
  return failed(Error{.code = ErrorCode::UnsupportedMedia,
                      .message = "server-side apply is not there yet",
                      .http_status = 415});
}

}  // namespace manta::local
