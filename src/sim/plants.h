// Bugs planted on purpose, to see that the simulator finds them. They stand between the operator
// and Kubernetes, so that the product needs no switch for them.
#pragma once

#include "base/result.h"
#include "kube/api.h"

#include <memory>
#include <string_view>

namespace manta::sim {

enum class Plant {
  None,
  IgnoreConflicts,  // writes are made whatever version they were planned from
  ForgetWrites,     // answers to writes say nothing: no reading of one's own writes
  DropEvent,        // one watch event in 25 is lost, and no list makes up for it
};

std::string_view to_string(Plant plant);
Result<Plant> parse_plant(std::string_view name);

/// Null for Plant::None.
std::unique_ptr<kube::Api> plant(Plant what, kube::Api& inner);

}  // namespace manta::sim
