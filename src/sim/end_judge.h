// What must be true of the users' own RayClusters when nothing happens any more, read off their
// specs.
#pragma once

#include "sim/world.h"

#include <string>
#include <vector>

namespace manta::sim {

void judge_clusters_at_the_end(const World& world, std::vector<std::string>& broken);

/// World::picture() of the users' own RayClusters and of what belongs to them.
std::vector<std::string> picture_of_clusters(const World& world);

}  // namespace manta::sim
