// What a change of a status says to people, for the log: a line for each state that an object goes
// through, none for counts and times that move.
#pragma once

#include "base/json.h"

#include <string>

namespace manta::controllers {

/// "state: (none) -> ready; HeadPodReady: False -> True (HeadPodRunningAndReady)". Empty when no
/// state, condition or cluster's name has changed.
std::string transition(const Json& before, const Json& after);

}  // namespace manta::controllers
