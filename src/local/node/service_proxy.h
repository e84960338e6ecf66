// Cluster IPs and node ports: listens where Services say and passes TCP connections on to their
// ready endpoints, round robin.
//
// A cluster IP is listened on by device: on the bridge for Pods, on the loopback for the host's
// programs. So several nodes on one machine may have the same cluster IPs, and each Pod reaches the
// Service of its own.
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
  struct Place {
    std::string ip = {};  // empty: every address
    int port = 0;
    std::string device = {};  // empty: every device
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places_of(const ProxyRule& rule) const;
  AsioLoop& loop_;
  PodNetwork* network_;
  std::map<Place, std::shared_ptr<Listener>> listeners_ = {};
};

}  // namespace manta::local
