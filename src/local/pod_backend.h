// What the API server asks of whoever runs Pods: log streams, commands in containers, port
// forwards. The node implements it (src/local/node); the API server's pods/log, pods/exec,
// pods/attach and pods/portforward subresources are its only callers. Everything runs on one Loop.
#pragma once

#include "base/async.h"
#include "base/result.h"
#include "base/task.h"
#include "base/time.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace manta::local {

/// One container of one Pod. The API server has checked that the Pod exists and has such a
/// container (an omitted container name is already filled in); it may have ended meanwhile.
struct ContainerTarget {
  std::string namespace_ = {};
  std::string pod = {};
  std::string uid = {};
  std::string container = {};  // empty for port forwards
  std::string node = {};       // spec.nodeName
};

/// Takes a piece of output; waits when the client reads slowly. False: the client has gone, stop.
using OutputSink = std::function<Task<bool>(std::string)>;

struct LogOptions {
  bool follow = false;      // stay until the container has ended
  bool previous = false;    // the last terminated instance instead of the current one
  bool timestamps = false;  // an RFC 3339 nanosecond stamp and a space before each line
  std::optional<std::int64_t> tail_lines = {};
  std::optional<std::int64_t> limit_bytes = {};
  std::optional<Time> since = {};
};

struct TerminalSize {
  std::uint16_t width = 0;
  std::uint16_t height = 0;
};

struct ExecRequest {
  ContainerTarget target = {};
  std::vector<std::string> command = {};  // empty: attach to the container's main process
  bool with_stdin = false;
  bool with_stdout = true;
  bool with_stderr = true;  // never together with tty: a terminal has one output, stdout
  bool tty = false;
};

/// Ends of a running command's streams. `input` closes at the client's end of input.
struct ExecStreams {
  Channel<std::string> input;
  Channel<TerminalSize> resize;
  OutputSink standard_output;
  OutputSink standard_error;
};

/// Both ways of one forwarded connection. `input` closes when the client closes its side.
struct ForwardStream {
  Channel<std::string> input;
  OutputSink output;
};

class PodBackend {
 public:
  virtual ~PodBackend() = default;

  /// Writes the log to `sink`. Errors before the first byte become the HTTP answer: NotFound or
  /// BadRequest with the kubelet's texts ("previous terminated container … not found").
  virtual Task<Result<void>> logs(ContainerTarget target, LogOptions options, OutputSink sink,
                                  std::stop_token stop) = 0;

  /// Runs the command to its end; its exit code (128 + signal when killed). `stop`: the client has
  /// gone, the command is killed.
  virtual Task<Result<int>> exec(ExecRequest request, ExecStreams streams,
                                 std::stop_token stop) = 0;

  /// Connects to 127.0.0.1:port as the Pod sees it and copies both ways until either side closes.
  virtual Task<Result<void>> forward(ContainerTarget target, std::uint16_t port,
                                     ForwardStream stream, std::stop_token stop) = 0;
};

}  // namespace manta::local
