// Carries out a script's steps in a world: as the users, the autoscaler, nodes, servers and Ray do.
#pragma once

#include "sim/script.h"
#include "sim/serve_double.h"
#include "sim/world.h"

#include <string>

namespace manta::sim {

/// What came of it, for the trace; a step whose object is not there does nothing.
std::string carry_out(World& world, ServeDouble& serve, const Step& step);

/// The autoscaler's last rounds: what it asked for and is not so, it asks for again. True when
/// nothing was left to ask.
bool autoscaler_is_content(World& world);

/// What went wrong by steps is put right (Pods that hang go, Ray answers), and no schedule starts
/// anything any more.
void come_to_an_end(World& world, ServeDouble& serve);

/// Jobs are submitted by hand to all RayJobs that wait for that. True when none
/// did.
bool users_are_content(World& world);

}  // namespace manta::sim
