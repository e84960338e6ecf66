// Ray's version numbers as users write them in rayVersion: "2.52.0", "v2.53", "2.52.0rc1".
#pragma once

#include "base/result.h"

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

namespace manta::ray {

/// The numeric components. Missing ones compare as 0 (2.52 == 2.52.0); what follows the numbers is
/// ignored (2.52.0rc1 == 2.52.0).
struct RayVersion {
  std::vector<std::uint64_t> components = {};

  std::strong_ordering operator<=>(const RayVersion& other) const;
  bool operator==(const RayVersion& other) const { return (*this <=> other) == 0; }
};

/// Needs two components at least. The messages are upstream's. Source: spec/01 §6.6.
Result<RayVersion> parse_ray_version(std::string_view text);

}  // namespace manta::ray
