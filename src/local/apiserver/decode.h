// Reads what clients send for a built-in type as Kubernetes' own decoder would: unknown fields fall
// away (and are named), wrong types are refused, quantities take their canonical form, and what Go
// leaves out when empty is left out.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "local/apiserver/schema.h"

#include <string>
#include <vector>

namespace manta::local {

/// `unknown` receives the paths of fields that the type does not have ("spec.containers[0].foo").
Result<Json> decode_builtin(const Json& object, const Schema& schema,
                            std::vector<std::string>& unknown);

}  // namespace manta::local
