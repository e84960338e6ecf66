// The RayService controller, wired to the caches.
#pragma once

#include "controllers/settings.h"
#include "kube/runtime.h"
#include "operator/world.h"

namespace manta::operator_ {

/// Both outlive it.
kube::ControllerSpec service_controller(World& world, const controllers::Settings& settings);

}  // namespace manta::operator_
