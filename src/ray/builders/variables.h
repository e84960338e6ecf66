// "$(NAME)" in what the kubelet expands from a container's own environment.
#pragma once

#include "base/json.h"

#include <string_view>

namespace manta::ray {

/// Gives a container the env entries of another that `text` names, and those that they name, unless
/// it has them. False: one of them comes from elsewhere (envFrom, an image); nothing is changed.
bool copy_variables(const JsonObject& from, JsonObject& to, std::string_view text);

}  // namespace manta::ray
