// Kinds of other projects, as the embedded API server serves them for a test: whatever is in them.
#pragma once

#include "kube/object.h"
#include "sim/served_kinds.h"
#include "world.h"

namespace manta::integration {

inline void serve(World& world, const kube::Resource& resource) {
  const auto made = world.loop().run(
      world.server().create(kube::kCustomResourceDefinitions, foreign_crd(resource)));
  MANTA_CHECK(made.has_value());
  world.pass(std::chrono::seconds{1});
}

}  // namespace manta::integration
