// The CustomResourceDefinitions of ray.io: what deploy/crd holds (written by cmd/crdgen) and what
// the embedded Kubernetes starts with.
#pragma once

#include "base/json.h"

#include <string>
#include <vector>

namespace manta::ray {

struct Crd {
  std::string file = {};  // "ray.io_rayclusters.yaml"
  Json object = {};       // a CustomResourceDefinition
};

/// RayCluster, RayJob, RayService, RayCronJob. Source: spec/01 §1, §8.1.
std::vector<Crd> ray_crds();

/// The file's text.
std::string crd_yaml(const Crd& crd);

}  // namespace manta::ray
