// This program as a client of the daemon.
#pragma once

#include "base/asio_loop.h"
#include "cli/paths.h"
#include "kube/api.h"

#include <functional>
#include <memory>
#include <string>

namespace manta::cli {

class Client {
 public:
  /// From the data directory's kubeconfig. Connects when first used.
  static Result<std::unique_ptr<Client>> open(AsioLoop& loop, const Paths& paths);
  ~Client();

  kube::Api& api();
  /// Follows a container's log to its end, a piece at a time.
  Task<Result<void>> follow_log(kube::ObjectKey pod, std::string container,
                                std::function<void(std::string_view)> sink, std::stop_token stop);

  /// Its last `lines` lines, of the run before with `previous`; read within ten seconds, 1 MiB at
  /// most.
  Task<Result<std::string>> end_of_log(kube::ObjectKey pod, std::string container, int lines,
                                       bool previous, std::stop_token stop);

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::cli
