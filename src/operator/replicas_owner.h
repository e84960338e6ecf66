// Who sets a RayCluster's `replicas` though its autoscaler does. AS-01, with its gate
#pragma once

#include "base/json.h"

#include <string>

namespace manta::operator_ {

/// From metadata.managedFields and the annotation of `kubectl apply`: who applies replicas of a
/// worker group, or the list of groups as a whole, in a sentence for the user; empty: nobody.
std::string who_applies_replicas(const Json& object);

}  // namespace manta::operator_
