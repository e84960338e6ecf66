// Strategic merge patch: lists of built-in types merge by key, with $patch, $retainKeys,
// $setElementOrder and $deleteFromPrimitiveList directives.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "local/apiserver/schema.h"

namespace manta::local {

/// Fails with BadRequest on directives that make no sense; the target may then be half changed.
Result<void> strategic_merge(Json& target, const Json& patch, const Schema& schema);

}  // namespace manta::local
