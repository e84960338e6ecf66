// Ray Serve's details, of which an operator reads little: each replica has half a kilobyte of them
// that nobody here asks for, and an answer is kept for as long as its cluster lives.
#pragma once

#include "base/json.h"

namespace manta::operator_ {

/// Of each application its status, message and deployed_app_config, of each deployment its status
/// and message; what has another type than Ray gives it is left out.
JsonObject serve_essentials(const Json& details);

}  // namespace manta::operator_
