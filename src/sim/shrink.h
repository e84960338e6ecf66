// From a seed that fails to less of it that still fails: without kinds of mischief, without steps,
// with as few faults on the wire as it takes.
#pragma once

#include "sim/run.h"

#include <functional>

namespace manta::sim {

/// `options` fails. The answer fails too, perhaps by another law. Runs the seed some hundred times
/// at most.
RunOptions shrink(const RunOptions& options);

}  // namespace manta::sim
