// The few rtnetlink requests that a Pod network needs: bridges, veth pairs, addresses, routes.
// Calls are short exchanges with the kernel; a socket belongs to the network namespace it was
// opened in.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

/// An IPv4 network in host byte order.
struct Ipv4Net {
  std::uint32_t address = 0;
  int prefix = 32;

  std::uint32_t mask() const { return prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix); }
  bool contains(std::uint32_t ip) const { return ((ip ^ address) & mask()) == 0; }
  bool overlaps(const Ipv4Net& other) const {
    return contains(other.address) || other.contains(address);
  }
  bool operator==(const Ipv4Net&) const = default;
};
Result<std::uint32_t> parse_ipv4(std::string_view text);
std::string format_ipv4(std::uint32_t ip);
/// "10.244.0.0/16"
Result<Ipv4Net> parse_ipv4_net(std::string_view text);

class Netlink {
 public:
  static Result<Netlink> open();
  Netlink(Netlink&& other) noexcept;
  Netlink& operator=(Netlink&&) = delete;
  ~Netlink();

  Result<int> index_of(const std::string& link);  // NotFound
  Result<std::vector<std::string>> links();
  Result<void> add_bridge(const std::string& name);
  /// The peer is born in the network namespace of process `peer_pid`.
  Result<void> add_veth(const std::string& name, const std::string& peer, int peer_pid);
  Result<void> remove_link(const std::string& name);  // missing is success
  Result<void> set_up(int index);
  Result<void> set_master(int index, int bridge_index);
  Result<void> add_address(int index, std::uint32_t ip, int prefix);     // there already is success
  Result<void> remove_address(int index, std::uint32_t ip, int prefix);  // missing is success
  Result<void> add_default_route(std::uint32_t gateway);
  /// Destinations of every IPv4 route except the default one.
  Result<std::vector<Ipv4Net>> routes();

 private:
  explicit Netlink(int fd) : fd_(fd) {}
  Result<void> exchange(std::string& request, std::string* answers);
  int fd_ = -1;
  std::uint32_t sequence_ = 0;
};

}  // namespace manta::local
