// Container logs: one file per container instance in the kubelet's format
// ("2026-08-19T13:21:52.123456789Z stdout F text"), rotated by size, read back for `kubectl logs`.
#pragma once

#include "base/asio_loop.h"
#include "base/async.h"
#include "local/node/helper_process.h"
#include "local/pod_backend.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

/// One line of a log file, taken apart. Views into the line.
struct LogLine {
  std::string_view stamp = {};
  std::string_view stream = {};
  bool partial = false;  // the text goes on in the next entry
  std::string_view text = {};
};
std::optional<LogLine> parse_log_line(std::string_view line);
/// "2026-08-19T13:21:52.123456000Z"
std::string format_log_stamp(Time time);

struct LogLimits {
  std::int64_t file_bytes = 10 << 20;
  int files = 5;  // the current one and what was rotated away
};

/// Takes a container's output and writes its file. Copies of the pointer: readers that follow.
class ContainerLog : public std::enable_shared_from_this<ContainerLog> {
 public:
  static Result<std::shared_ptr<ContainerLog>> open(AsioLoop& loop, std::string path,
                                                    LogLimits limits);
  ~ContainerLog();

  /// Copies the pipe's lines into the file until its end.
  void take(std::string stream, Fd pipe);
  /// A line of the node's own.
  void note(std::string_view text);
  /// No more will come; what is in the pipes already still does.
  void finish();
  bool finished() const { return finished_ && open_streams_ == 0; }
  const std::string& path() const { return path_; }
  /// Set at the next line, or at the end.
  OneShot<bool> next_change();
  /// Everything of both streams has been written.
  Task<void> drained();

 private:
  struct Reader;
  ContainerLog(AsioLoop& loop, std::string path, LogLimits limits);
  void write_line(std::string_view stream, std::string_view text, bool partial);
  void rotate();
  void stream_ended();
  void wake();

  AsioLoop& loop_;
  std::string path_;
  LogLimits limits_;
  int fd_ = -1;
  std::int64_t size_ = 0;
  int open_streams_ = 0;
  bool finished_ = false;
  std::vector<OneShot<bool>> waiters_ = {};
};

/// The file and those rotated away from it, oldest first.
std::vector<std::string> log_files(const std::string& path);

/// Writes a log to the sink. `live`: the log that still grows, for follow; may be null.
Task<Result<void>> read_log(AsioLoop& loop, std::string path, std::shared_ptr<ContainerLog> live,
                            LogOptions options, OutputSink sink, std::stop_token stop);

/// The end of a log without stamps, at most so many lines and bytes: for termination messages.
std::string log_tail(const std::string& path, std::size_t lines, std::size_t bytes);

}  // namespace manta::local
