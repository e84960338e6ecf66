// What a person at the terminal reads: progress on stderr, the job's own output on stdout.
#pragma once

#include <chrono>
#include <string_view>

namespace manta::cli {

class Console {
 public:
  /// "[ 12.3s] text", the time since this Console was made.
  void say(std::string_view text) const;
  void warn(std::string_view text) const;
  /// The job's output, as it is.
  void output(std::string_view text) const;
  double elapsed_seconds() const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "manta: text" on stderr.
void print_error(std::string_view text);

}  // namespace manta::cli
