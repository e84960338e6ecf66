// Whether a RayCluster can be worked on at all. Source: spec/02 §2 steps 3 to 8.
#pragma once

#include "controllers/raycluster/notes.h"
#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

#include <optional>
#include <vector>

namespace manta::controllers::raycluster {

struct Validity {
  bool valid = true;
  std::vector<kube::EventNote> events = {};  // also warnings about what is valid
  std::optional<Note> note = {};             // what is wrong with the object, for its conditions
};
Validity validate(const RayClusterSeen& seen, const Settings& settings);

}  // namespace manta::controllers::raycluster
