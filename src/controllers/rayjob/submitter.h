// What became of the submitter: the Kubernetes Job, or the container in the head Pod.
#pragma once

#include "controllers/rayjob/seen.h"

#include <optional>
#include <string>

namespace manta::controllers::rayjob {

struct SubmitterState {
  /// Set when it cannot be told: nothing is decided until the cause has gone.
  std::optional<std::string> unknown = {};
  /// Set when there is none any more, and none will come: what it is that is missing.
  std::optional<std::string> gone = {};
  std::optional<Time> finished = {};  // when it ended, in whatever way
  /// Set when the RayJob fails by it; `reason` stays what the job's own failure says when Ray
  /// already reported FAILED.
  std::optional<std::string> failure = {};
  bool head_lost = false;  // Sidecar: there is no head Pod
};

/// HTTPMode and InteractiveMode have no submitter: nothing is set. Source: spec/04 §2.8.
SubmitterState look_at_submitter(const RayJobSeen& seen, const Settings& settings);

}  // namespace manta::controllers::rayjob
