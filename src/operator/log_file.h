// A log file that is set aside when it has grown: NAME-TIME.EXT beside it, as lumberjack names
// them.
#pragma once

#include "base/result.h"
#include "base/time.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace manta::operator_ {

class LogFile {
 public:
  struct Options {
    std::string path = {};  // its folder is made
    std::uintmax_t max_bytes = 500u << 20;
    std::size_t backups = 10;
    Duration max_age = std::chrono::hours{30 * 24};
  };
  explicit LogFile(Options options) : options_(std::move(options)) {}

  /// Appends to what is there.
  Result<void> open();
  /// A file that cannot be written any more loses the line: there is nobody to tell.
  void write(Time now, const std::string& line);

 private:
  void rotate(Time now);
  void remove_old(Time now) const;

  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Options options_;
  std::unique_ptr<std::FILE, Closer> file_ = {};
  std::uintmax_t bytes_ = 0;
};

}  // namespace manta::operator_
