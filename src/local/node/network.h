// The Pods' network: one bridge in a private subnet, an address per Pod.
#pragma once

#include "base/result.h"
#include "local/node/netlink.h"

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace manta::local {

/// A /16 out of 10.0.0.0/8 that no route of the host touches; tries 10.244.0.0/16 first.
Result<Ipv4Net> choose_subnet(const std::vector<Ipv4Net>& routes);

/// Hands out addresses; one that was given back rests until all others have been used.
class AddressPool {
 public:
  explicit AddressPool(Ipv4Net net)
      : net_(net), next_(net.address + 2) {}  // .0 the net, .1 the bridge
  Result<std::uint32_t> take();
  void give_back(std::uint32_t ip);

 private:
  Ipv4Net net_;
  std::uint32_t next_;
  std::deque<std::uint32_t> resting_ = {};
};

class PodNetwork {
 public:
  /// `id`: 8 hex digits that mark the bridge and veths. `subnet` empty: choose one.
  static Result<PodNetwork> start(const std::string& id, const std::string& subnet);
  /// Removes the bridge and every veth of this id, also an earlier life's.
  static Result<void> clean_up(const std::string& id);
  /// True while there is something for clean_up() to remove.
  static bool has_devices(const std::string& id);

  static std::string bridge_name(const std::string& id) { return "manta" + id.substr(0, 8); }
  const Ipv4Net& net() const { return net_; }
  const std::string& bridge() const { return bridge_; }
  std::uint32_t gateway() const { return net_.address + 1; }
  std::string veth_name(std::uint32_t pod_ip) const;
  AddressPool& addresses() { return pool_; }
  /// A Service's address on the bridge, for the proxy to listen on.
  Result<void> add_service_address(const std::string& ip);
  Result<void> remove_service_address(const std::string& ip);

 private:
  PodNetwork(std::string id, std::string bridge, Ipv4Net net, int index)
      : id_(std::move(id)), bridge_(std::move(bridge)), net_(net), index_(index), pool_(net) {}
  std::string id_;
  std::string bridge_;
  Ipv4Net net_;
  int index_;
  AddressPool pool_;
};

}  // namespace manta::local
