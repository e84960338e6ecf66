// What a Pod says about itself, for somebody who waits for it. Pure.
#pragma once

#include "base/json.h"

#include <string>
#include <string_view>
#include <vector>

namespace manta::cli {

/// One word: Pending, ContainerCreating, Init:0/1, Running, Ready, Terminating, Completed, Failed.
std::string pod_state(const Json& pod);

/// Why it is not running, in the Pod's own words: "Unschedulable: 0/1 nodes are available: …",
/// "container ray-head: ErrImagePull: …". Empty when nothing hangs.
std::string pod_trouble(const Json& pod);

/// A container that ended badly, now or before it was started again.
struct Crash {
  std::string container = {};
  std::string why = {};   // "exit code 3 (Error)"
  bool previous = false;  // it runs again or will: the log is that of the run before
};
std::vector<Crash> pod_crashes(const Json& pod);

/// True when that container has begun to write a log.
bool container_has_log(const Json& pod, std::string_view container);

/// What to do about images that are not prepared, as the containers that wait for them say it.
std::vector<std::string> image_hints(const Json& pod);

}  // namespace manta::cli
