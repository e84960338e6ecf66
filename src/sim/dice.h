// Chance in the terms that scripts need.
#pragma once

#include "base/random.h"
#include "base/time.h"

#include <cstdint>
#include <vector>

namespace manta::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t roll() { return random_.next(); }
  bool chance(double share) { return static_cast<double>(roll() >> 11) * 0x1p-53 < share; }
  int between(int low, int high) {  // both may come
    return low + static_cast<int>(roll() % static_cast<std::uint64_t>(high - low + 1));
  }
  Duration millis(int low, int high) { return std::chrono::milliseconds{between(low, high)}; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[roll() % from.size()];
  }

 private:
  SeededRandom random_;
};

}  // namespace manta::sim
