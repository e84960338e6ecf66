// Shell commands of containers.
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"

#include <string_view>

namespace manta::ray {

/// ["/bin/bash", "-c", "--"]; with `exit_on_error` -ce, and a login shell adds l. spec/03 §0
JsonArray bash_command(const BuildOptions& options, bool exit_on_error = false);

/// Makes the Ray container run `ray start`, after the user's own command if there is one; leaves it
/// alone when the user starts Ray himself or asked for that. spec/03 §3.7
void set_ray_command(JsonObject& ray_container, std::string_view ray_start, bool keep_users,
                     const BuildOptions& options);

}  // namespace manta::ray
