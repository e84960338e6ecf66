// Of lines that repeat within a second: the first hundred, then every hundredth. Source: spec/07
// §10.
#pragma once

#include "base/log.h"
#include "base/time.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace manta::operator_ {

class LogSampler {
 public:
  /// Whether to show this line; equal are those of one level and message.
  bool admit(log::Level level, std::string_view message, Time now);

 private:
  struct Count {
    std::int64_t second = 0;
    std::uint64_t lines = 0;
  };
  std::unordered_map<std::string, Count> counts_ = {};  // messages are constants, so few
};

}  // namespace manta::operator_
