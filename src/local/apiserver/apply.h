// Server-side apply and the bookkeeping of field ownership (metadata.managedFields, fieldsV1).
// Source: KEP-555 and structured-merge-diff's rules.
#pragma once

#include "kube/api.h"
#include "local/apiserver/rest.h"

namespace manta::local {

/// Records that the caller changed what differs between `old` (null: created) and `object`. Only
/// objects that someone has applied are tracked: the first apply of an untracked one attributes
/// what is there to "before-first-apply", as the real server does for objects without
/// managedFields.
void track_update(const Kind& kind, const Json& old, Json& object, const kube::Request& request,
                  const Caller& caller, Time now);

/// True when both have the same managers and fields (times aside).
bool same_managers(const Json& a, const Json& b);

/// An apply patch: creates the object when `current` is null. 409 with the conflicting managers and
/// fields, unless forced.
Result<Json> apply_patch(Rest& rest, const Kind& kind, const Json* current, kube::Request& request,
                         Context& context);

}  // namespace manta::local
