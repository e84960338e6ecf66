// Chance as an argument: whoever needs it is handed a source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace manta {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
};

/// Cryptographically secure; for the product.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

/// SplitMix64: the same seed gives the same run; for tests and the simulator.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

/// As Kubernetes names things: `length` characters of bcdfghjklmnpqrstvwxz2456789.
std::string random_suffix(Random& random, std::size_t length = 5);
/// A version-4 UUID in lower case.
std::string random_uuid(Random& random);

}  // namespace manta
