// The end of a job's log out of the end of Ray's answer. Ray sends a log whole, as one JSON string,
// however long; only its last bytes are ever held.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace manta::operator_ {

/// Bytes of a log that are kept. RJ-39
inline constexpr std::size_t kLogTail = 65536;
/// Bytes of the answer that hold as much for sure: JSON writes a character in six bytes at most.
inline constexpr std::size_t kLogAnswerTail = 6 * kLogTail + 64;

/// Holds on to the last `limit` bytes of what is appended, and at times to as many more.
class TailBuffer {
 public:
  explicit TailBuffer(std::size_t limit) : limit_(limit) {}
  void append(std::string_view piece);
  /// The last `limit` bytes. Leaves it empty.
  std::string take();

 private:
  std::size_t limit_;
  std::string text_ = {};
};

/// The last kLogTail bytes of the log in {"logs": "…"}, from a whole character on. `answer` is
/// whole, or its last kLogAnswerTail bytes.
Result<std::string> log_tail(std::string_view answer);

}  // namespace manta::operator_
