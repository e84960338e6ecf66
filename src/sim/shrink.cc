#include "sim/shrink.h"

#include <algorithm>

namespace manta::sim {
namespace {

constexpr int kMostRuns = 300;

class Shrinker {
 public:
  explicit Shrinker(RunOptions options) : best_(std::move(options)) {
    best_.trace = {};
    outcome_ = run_seed(best_);
  }

  RunOptions shrink() {
    for (const auto mischief : Mischiefs(outcome_.mischiefs))
      try_without([&](RunOptions& options) { options.without.insert(mischief); });
    // Halves, quarters, … of the steps, then single ones.
    for (auto size = std::max<std::size_t>(1, outcome_.steps / 2);; size /= 2) {
      drop_steps(static_cast<int>(size));
      if (size == 1) break;
    }
    lower_faults();
    return best_;
  }

 private:
  template <class Change>
  bool try_without(Change change) {
    if (++runs_ > kMostRuns) return false;
    auto options = best_;
    change(options);
    auto outcome = run_seed(options);
    if (outcome.broken.empty()) return false;
    best_ = std::move(options);
    outcome_ = std::move(outcome);
    return true;
  }

  void drop_steps(int size) {
    const int steps = static_cast<int>(outcome_.steps);
    for (int from = 0; from < steps; from += size)
      try_without([&](RunOptions& options) {
        for (int step = from; step < std::min(from + size, steps); ++step)
          options.skipped.insert(step);
      });
  }

  // The smallest number that still fails, as far as halving tells.
  void lower_faults() {
    std::size_t enough = outcome_.faults;
    if (!try_without([&](RunOptions& options) { options.most_faults = enough; })) return;
    for (std::size_t too_few = 0; enough > too_few;) {
      const auto middle = (enough + too_few) / 2;
      if (try_without([&](RunOptions& options) { options.most_faults = middle; }))
        enough = middle;
      else
        too_few = middle + 1;
    }
  }

  RunOptions best_;
  Outcome outcome_ = {};
  int runs_ = 0;
};

}  // namespace

RunOptions shrink(const RunOptions& options) { return Shrinker(options).shrink(); }

}  // namespace manta::sim
