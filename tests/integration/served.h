// Kinds of other projects, as the embedded API server serves them for a test: whatever is in them.
#pragma once

#include "kube/object.h"
#include "world.h"

#include <algorithm>

namespace manta::integration {

inline void serve(World& world, const kube::Resource& resource) {
  auto singular = resource.kind;
  std::ranges::transform(singular, singular.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const Json schema{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  const Json version{{"name", resource.version},
                     {"served", true},
                     {"storage", true},
                     {"schema", {{"openAPIV3Schema", schema}}},
                     {"subresources", {{"status", JsonObject{}}}}};
  const Json crd{
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "CustomResourceDefinition"},
      {"metadata", {{"name", resource.plural + "." + resource.group}}},
      {"spec",
       {{"group", resource.group},
        {"scope", "Namespaced"},
        {"names", {{"plural", resource.plural}, {"singular", singular}, {"kind", resource.kind}}},
        {"versions", JsonArray{version}}}}};
  const auto made = world.loop().run(world.server().create(kube::kCustomResourceDefinitions, crd));
  MANTA_CHECK(made.has_value());
  world.pass(std::chrono::seconds{1});
}

}  // namespace manta::integration
