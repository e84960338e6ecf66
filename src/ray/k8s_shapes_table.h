// Text of the shape tables, parsed by k8s_shapes.cc.
#pragma once

namespace manta::ray {

extern const char* const kKubernetesShapes;
extern const char* const kV1Alpha1Shapes;

}  // namespace manta::ray
