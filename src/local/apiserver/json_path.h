// The part of JSONPath that printer columns use.
#pragma once

#include "base/json.h"

#include <string_view>

namespace manta::local {

/// The first value at a path like .status.conditions[?(@.type=="Ready")].status or .a[0]['b']; null
/// when there is none, or the path is none.
const Json* json_path(const Json& object, std::string_view path);

}  // namespace manta::local
