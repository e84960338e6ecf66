// Commands in running containers: probes, hooks, `kubectl exec`.
#pragma once

#include "base/asio_loop.h"
#include "local/node/helper_process.h"
#include "local/pod_backend.h"

#include <memory>
#include <string>
#include <vector>

namespace manta::local {

/// How helpers of one node are started.
struct Helpers {
  AsioLoop& loop;
  std::string executable = {};
  std::string marker = {};

  Result<std::shared_ptr<HelperProcess>> spawn(HelperSpec spec, HelperStreams streams = {}) const {
    return HelperProcess::spawn(loop, executable, marker, std::move(spec), std::move(streams));
  }
};

/// A running container, as a command joins it.
struct ContainerEntry {
  std::int64_t init_pid = 0;
  std::vector<std::string> cgroup_procs = {};
  ProcessSpec process = {};  // environment, folder and credentials of its main process
};

struct CommandResult {
  int exit_code = 0;
  std::string output = {};  // both streams, the first 10 KiB
  bool timed_out = false;
};

/// Runs a command to its end or its timeout (then it is killed). An Error: it could not be started.
Task<Result<CommandResult>> run_command(const Helpers& helpers, ContainerEntry container,
                                        std::vector<std::string> argv, Duration timeout);

/// As PodBackend::exec().
Task<Result<int>> run_exec(const Helpers& helpers, ContainerEntry container, ExecRequest request,
                           ExecStreams streams, std::stop_token stop);

/// As PodBackend::forward(); `sandbox_pid` 0: the host's own network.
Task<Result<void>> run_forward(const Helpers& helpers, std::int64_t sandbox_pid, std::uint16_t port,
                               ForwardStream stream, std::stop_token stop);

/// Removes files and folders in a helper; returns when they are gone.
Task<void> remove_paths(const Helpers& helpers, std::vector<std::string> paths);

}  // namespace manta::local
