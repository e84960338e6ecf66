// Whether a RayJob can be worked on at all. Source: spec/04 §1.3.
#pragma once

#include "controllers/rayjob/seen.h"
#include "controllers/settings.h"

#include <optional>
#include <string>

namespace manta::controllers::rayjob {

struct Problem {
  std::string reason = {};  // of the event: InvalidRayJobMetadata, …Spec, …Status
  std::string message = {};
};
/// The first rule that is broken, if any.
std::optional<Problem> validate(const ray::RayJob& job, const Settings& settings);

/// The spec to go on with while the stored one is invalid: the last valid one, or, when this
/// process has seen none, the stored one without what would delete, suspend or try again. RJ-21
ray::RayJobSpec spec_to_go_on_with(const RayJobSeen& seen);

}  // namespace manta::controllers::rayjob
