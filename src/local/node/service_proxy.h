// Cluster IPs and node ports: listens where Services say and passes TCP connections on to their
// ready endpoints, round robin.
#pragma once

#include "base/asio_loop.h"
#include "local/node/network.h"
#include "local/node/services.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace manta::local {

class ServiceProxy {
 public:
  /// `network` may be null: then only node ports.
  ServiceProxy(AsioLoop& loop, PodNetwork* network);
  ~ServiceProxy();

  /// Makes the listeners what the rules say; connections that stand go on.
  void update(const std::vector<ProxyRule>& rules);
  void stop();

 private:
  struct Listener;
  AsioLoop& loop_;
  PodNetwork* network_;
  std::map<std::pair<std::string, int>, std::shared_ptr<Listener>> listeners_ = {};
};

}  // namespace manta::local
