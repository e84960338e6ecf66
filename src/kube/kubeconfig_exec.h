// Credential plugins: programs that print an ExecCredential. Internal to the API client.
#pragma once

#include "base/asio_loop.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/kubeconfig.h"

#include <optional>
#include <string>

namespace manta::kube {

struct ExecCredential {
  std::string token = {};
  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  std::optional<Time> expires = {};  // absent: until the server says 401
};

/// Runs the plugin without blocking the loop. Fails when it cannot be found (with its installHint),
/// ends with an error, prints something else, or needs longer than `limit`, at which it is killed.
Task<Result<ExecCredential>> run_exec_plugin(AsioLoop& loop, ExecPlugin plugin,
                                             StringMap environment, Duration limit);

}  // namespace manta::kube
