// OpenAPI v3 schemas, as CustomResourceDefinitions hold them, from the types' descriptions
// (reflect.h) and the shape tables (k8s_shapes.h).
#pragma once

#include "base/json.h"
#include "ray/k8s_shapes.h"
#include "ray/reflect.h"

namespace manta::ray {

/// The shape of a described type, docs and rules included.
Shape shape_of(const TypeInfo& type);

/// A structural schema: references expanded, keys sorted. Source: spec/01 §8.1, §6.8.
Json openapi_schema(const Shape& shape);

}  // namespace manta::ray
