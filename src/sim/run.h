// One seed is one exact run: a script of users and mishaps, lived through in a world, judged by
// laws all along and by what is left at the end.
//
//   auto outcome = run_seed({.seed = 7});
//   if (!outcome.broken.empty()) … shrink(...)          // shrink.h
#pragma once

#include "sim/mischief.h"
#include "sim/plants.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace manta::sim {

struct RunOptions {
  std::uint64_t seed = 1;
  Plant plant = Plant::None;
  std::set<Mischief> without = {};     // of those that the seed chose
  std::set<int> skipped = {};          // steps of the script
  std::size_t most_faults = SIZE_MAX;  // on the wire
  std::function<void(const std::string&)> trace = {};
};

struct Outcome {
  std::vector<std::string> broken = {};  // laws, in words
  Mischiefs mischiefs = {};              // that the run had
  std::size_t steps = 0;                 // of the script, the skipped ones too
  std::size_t faults = 0;                // on the wire
  std::size_t writes = 0;                // of the operator
};

/// Lives through the seed; when it comes through, a second time without faults on the wire, and
/// compares what is left.
Outcome run_seed(const RunOptions& options);

/// The command line that runs exactly this again, from the repository's root.
std::string replay_command(const RunOptions& options);

}  // namespace manta::sim
