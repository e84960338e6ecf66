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
std::optional<Problem> validate(const RayJobSeen& seen, const Settings& settings);

}  // namespace manta::controllers::rayjob
