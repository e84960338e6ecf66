// Regular expressions of schemas and rules as Kubernetes has them: Go's syntax, and a match takes
// time in proportion to the text, whatever the expression. RE2's header stays in pattern.cc.
//
//   Patterns patterns;
//   auto name = patterns.compile("^[a-z]+$");
//   if (name && (*name)->found_in(text)) …
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

class Pattern {
 public:
  /// Fails in the words of Go's regexp: "error parsing regexp: missing closing ): `(`"; likewise
  /// when it would take more than `limit` bytes.
  static Result<std::shared_ptr<const Pattern>> compile(std::string_view expression,
                                                        std::size_t limit);

  virtual ~Pattern() = default;
  /// True when some part of the text matches.
  virtual bool found_in(std::string_view text) const = 0;
  /// The matches from left to right, `limit` at most (any number when negative); parts of `text`.
  /// Nothing when there are so many in so long a text that each would be looked for too far.
  virtual std::optional<std::vector<std::string_view>> find_in(std::string_view text,
                                                               std::int64_t limit) const = 0;
  /// What it may take, its cache of states included.
  virtual std::size_t max_bytes() const = 0;
};

using PatternPtr = std::shared_ptr<const Pattern>;

/// The patterns of one definition. Each is compiled once, and what all of them may take is bounded:
/// an expression of six characters can stand for a program of megabytes.
class Patterns {
 public:
  explicit Patterns(std::size_t max_bytes = 128u << 20) : left_(max_bytes) {}
  Result<PatternPtr> compile(std::string_view expression);

 private:
  std::map<std::string, PatternPtr, std::less<>> known_ = {};
  std::size_t left_;
};

}  // namespace manta::local
