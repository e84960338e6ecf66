// The command line of `manta`.
#pragma once

namespace manta::cli {

/// Exit codes: 0 fine; 1 it failed, and stderr says why; 2 the command line is wrong; 3 `status`:
/// nothing runs; 124 and 130 from `run`: timeout, interrupted.
int run_app(int argc, char** argv);

}  // namespace manta::cli
