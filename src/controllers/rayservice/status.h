// The status of a RayService from what was seen and decided. Source: spec/05 §9.
#pragma once

#include "controllers/rayservice/draft.h"
#include "controllers/rayservice/serve.h"

#include <cstdint>

namespace manta::controllers::rayservice {

/// Clusters and applications, as far as they are known in this pass.
void tell_clusters(Draft& draft, const ServeSeen& active, const ServeSeen& pending);

/// Objects that serve behind the Serve Services; one with two addresses counts once.
std::int32_t count_endpoints(const Draft& draft);

/// Plans the status write, when anything in it is worth one.
void plan_status(Draft& draft);

}  // namespace manta::controllers::rayservice
