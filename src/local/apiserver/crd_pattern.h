// A regular expression of a schema. Kept apart: <regex> is slow to compile.
#pragma once

#include <memory>
#include <string_view>

namespace manta::local {

class Pattern {
 public:
  virtual ~Pattern() = default;
  /// True when some part of the text matches.
  virtual bool found_in(std::string_view text) const = 0;
  /// Null when the expression cannot be read.
  static std::shared_ptr<const Pattern> compile(std::string_view expression);
};

}  // namespace manta::local
