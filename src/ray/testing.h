// For tests of this library only: documents written as YAML.
#pragma once

#include "base/yaml.h"
#include "ray/types.h"

#include <gtest/gtest.h>

#include <string_view>

namespace manta::ray {

inline Json yaml(std::string_view text) {
  auto parsed = parse_yaml_one(text);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message) << "\n" << text;
  return parsed ? *parsed : Json();
}

template <class T>
T part(std::string_view text) {
  auto parsed = parse_part<T>(yaml(text), "spec");
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message) << "\n" << text;
  return parsed ? *parsed : T{};
}

/// "" when valid.
inline std::string message_of(const Result<void>& result) {
  return result ? std::string() : result.error().message;
}

}  // namespace manta::ray
