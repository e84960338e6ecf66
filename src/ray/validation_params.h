// rayStartParams that a shell would make something else of than one argument each. SEC-01, with its
// gate: without it they are live shell text, as KubeRay has them.
#pragma once

#include "ray/types.h"
#include "ray/validation_pod.h"

#include <string_view>

namespace manta::ray {

/// The first parameter, of the head or of a worker group, that is no single word, with its path.
Fault check_start_params(const RayClusterSpec& spec);

/// What is wrong with the text behind `--flag=`; nothing: the shell hands on one argument and runs
/// nothing. Quotes ("…", '…', \) are as bash has them, and $NAME and ${NAME} are allowed, since
/// passwords come that way.
Fault shell_word_fault(std::string_view text);

}  // namespace manta::ray
