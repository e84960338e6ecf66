// What a RayJob says about itself, for somebody who waits for it. Pure.
#pragma once

#include "base/json.h"

#include <optional>
#include <string>
#include <string_view>

namespace manta::cli {

struct JobWait {
  std::string_view how = {};  // "waits" or "is tried again"
  std::string message = {};   // the status's
};
/// Why it does not run yet. Nothing when it runs or has run, and when the message is of a Pod,
/// which says so itself.
std::optional<JobWait> job_wait(const Json& ray_job);

}  // namespace manta::cli
