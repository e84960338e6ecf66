// What goes into the Authorization header, kept fresh. Internal to the API client.
#pragma once

#include "base/asio_loop.h"
#include "base/async.h"
#include "kube/http_client.h"
#include "kube/kubeconfig.h"
#include "kube/kubeconfig_exec.h"

#include <functional>
#include <string>
#include <vector>

namespace manta::kube {

class Credentials {
 public:
  /// `on_certificate` hears of a client certificate that an exec plugin gave.
  Credentials(AsioLoop& loop, const ClientConfig& config,
              std::function<void(std::string cert, std::string key)> on_certificate);

  /// The header's value, or empty. Reads a token file again after a minute, and runs the plugin
  /// when there is no credential or it has expired; callers at the same time share one run.
  Task<Result<std::string>> authorization();
  /// The server answered 401 to `used`. True: there is another one, so trying again makes sense.
  Task<bool> renew(std::string used);

 private:
  Task<Result<void>> run_plugin();
  Result<void> read_token_file();

  AsioLoop& loop_;
  const ClientConfig& config_;
  std::function<void(std::string, std::string)> on_certificate_;
  std::string header_ = {};
  Steady read_at_ = {};
  bool have_ = false;
  std::optional<Time> expires_ = {};
  std::string last_certificate_ = {};
  bool running_ = false;
  std::vector<OneShot<Result<void>>> waiting_ = {};
};

}  // namespace manta::kube
