// Whether a RayService can be worked on at all. Source: spec/05 §3.1.
#pragma once

#include "controllers/settings.h"
#include "ray/types.h"

#include <optional>
#include <string>

namespace manta::controllers::rayservice {

struct Problem {
  std::string reason = {};  // of the event: InvalidRayServiceMetadata, InvalidRayServiceSpec
  std::string message = {};
};
/// The first rule that is broken, if any.
std::optional<Problem> validate(const ray::RayService& service, const Settings& settings);

}  // namespace manta::controllers::rayservice
