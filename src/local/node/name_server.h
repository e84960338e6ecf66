// The Pods' DNS server, on the bridge's address: knows the Services' names and says at once that
// other names of the cluster do not exist; passes the rest on to the host's servers. (Programs find
// Services in their hosts file; this is for names outside, and for resolvers that ask for what no
// hosts file says, such as SRV.)
#pragma once

#include "base/asio_loop.h"
#include "local/node/services.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace manta::local {

class NameServer {
 public:
  struct Options {
    std::string address = {};
    std::string cluster_domain = {};
    /// Whom to ask for names outside, read anew for each question: laptops move.
    std::function<std::vector<std::string>()> upstream = {};
  };
  /// Listens on UDP port 53 of the address; fails when somebody else does.
  static Result<std::unique_ptr<NameServer>> start(AsioLoop& loop, Options options);
  ~NameServer();

  void update(const std::vector<HostsEntry>& services);

 private:
  struct Impl;
  explicit NameServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace manta::local
