// A RayJob's runtimeEnvYAML: read in one way by validation, the submitters' command line and the
// request to the dashboard, so that what the first accepts the others can use.
#pragma once

#include "base/json.h"
#include "base/result.h"

#include <string>
#include <string_view>

namespace manta::ray {

/// The first document, as YAML 1.1 reads it (y and on are booleans, of two equal keys the last
/// counts); null when there is none. Fails on what is no YAML, and on anything but a mapping.
Result<Json> parse_runtime_env(std::string_view yaml);

/// The same as compact JSON with sorted keys, for a command line. Nothing at all is null.
Result<std::string> runtime_env_text(std::string_view yaml);

}  // namespace manta::ray
