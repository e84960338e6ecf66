// Embedded Kubernetes content as Kubernetes' own serializer would write it. Only spec hashes need
// this: what we send to the API server stays as the user wrote it.
#pragma once

#include "base/json.h"
#include "ray/k8s_shapes.h"

#include <string_view>

namespace manta::ray {

/// Keys in Kubernetes' order, unknown keys dropped, zero values left out or put in as the table
/// says, map keys sorted, quantities and times in canonical text. A value of the wrong type passes
/// as it is. `shape`: a name or shorthand of k8s_shapes.h, e.g. "PodTemplateSpec", "[EnvVar]"; one
/// that does not parse is our own bug. Source: spec/01 §0.1, §8.5.
Json kube_canonical(const Json& value, std::string_view shape);
Json kube_canonical(const Json& value, const Shape& shape);

}  // namespace manta::ray
