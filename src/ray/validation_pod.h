// What validation looks at inside Pod templates and env lists. Answers for every JSON: what has
// another type than Kubernetes gives it reads as absent.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "ray/types.h"

#include <optional>
#include <string>
#include <string_view>

namespace manta::ray {

/// What is wrong, or nothing.
using Fault = std::optional<std::string>;

inline Result<void> to_result(Fault fault) {
  if (!fault) return {};
  return failed(ErrorCode::Invalid, std::move(*fault));
}

const JsonArray& containers_of(const Json& pod_template);
/// Container 0, or null.
const Json* ray_container(const Json& pod_template);
/// The last entry of that name in a list of EnvVar, or null. (Kubernetes lets the last one win.)
const Json* find_env(const Json& list, std::string_view name);
/// In container 0's env.
const Json* ray_env(const Json& pod_template, std::string_view name);
/// Non-empty and not Never.
bool restarts(const Json& pod_template);
/// What to add to an error about it: ": got Always".
std::string got_restart_policy(const Json& pod_template);
bool non_empty_list(const Json& list);

inline bool autoscaling_enabled(const RayClusterSpec& spec) {
  return is_true(spec.enableInTreeAutoscaling);
}

}  // namespace manta::ray
