#include "local/node/network.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::local {

Result<Ipv4Net> choose_subnet(const std::vector<Ipv4Net>& routes) {
  for (int offset = 0; offset < 256; ++offset) {
    const auto second = static_cast<std::uint32_t>((244 + offset) % 256);
    const Ipv4Net net{(10u << 24) | (second << 16), 16};
    if (std::ranges::none_of(routes, [&](const Ipv4Net& r) { return r.overlaps(net); })) return net;
  }
  return failed(
      ErrorCode::Unavailable,
      "every 10.x.0.0/16 is in use by a route of this machine; name a free network for the Pods");
}

Result<std::uint32_t> AddressPool::take() {
  const auto last = net_.address | ~net_.mask();  // broadcast
  if (next_ < last) return next_++;
  if (resting_.empty())
    return failed(ErrorCode::Unavailable, "no address is left in the Pods' network");
  const auto ip = resting_.front();
  resting_.pop_front();
  return ip;
}

void AddressPool::give_back(std::uint32_t ip) { resting_.push_back(ip); }

static std::string veth_prefix(const std::string& id) { return "mv" + id.substr(0, 5); }

std::string PodNetwork::veth_name(std::uint32_t pod_ip) const {
  return fmt::format("{}{:08x}", veth_prefix(id_), pod_ip);  // 15 characters, the most there may be
}

Result<PodNetwork> PodNetwork::start(const std::string& id, const std::string& subnet) {
  auto netlink = Netlink::open();
  if (!netlink) return failed(netlink.error());
  Ipv4Net net;
  if (subnet.empty()) {
    auto routes = netlink->routes();
    if (!routes) return failed(routes.error());
    auto chosen = choose_subnet(*routes);
    if (!chosen) return failed(chosen.error());
    net = *chosen;
  } else {
    auto parsed = parse_ipv4_net(subnet);
    if (!parsed) return failed(parsed.error().in("the Pods' network"));
    if (parsed->prefix > 29)
      return failed(ErrorCode::Invalid,
                    fmt::format("the Pods' network {} is too small: at most /29", subnet));
    net = *parsed;
  }
  const auto bridge = bridge_name(id);
  if (auto made = netlink->add_bridge(bridge);
      !made && made.error().code != ErrorCode::AlreadyExists)
    return failed(made.error());
  auto index = netlink->index_of(bridge);
  if (!index) return failed(index.error());
  if (auto set = netlink->add_address(*index, net.address + 1, net.prefix); !set)
    return failed(set.error());
  if (auto up = netlink->set_up(*index); !up) return failed(up.error());
  return PodNetwork(id, bridge, net, *index);
}

static Result<std::vector<std::string>> devices_of(Netlink& netlink, const std::string& id) {
  auto links = netlink.links();
  if (!links) return failed(links.error());
  std::erase_if(*links, [&](const auto& link) {
    return !link.starts_with(veth_prefix(id)) && link != PodNetwork::bridge_name(id);
  });
  return *links;
}

bool PodNetwork::has_devices(const std::string& id) {
  auto netlink = Netlink::open();
  if (!netlink) return false;
  const auto devices = devices_of(*netlink, id);
  return devices && !devices->empty();
}

Result<void> PodNetwork::clean_up(const std::string& id) {
  auto netlink = Netlink::open();
  if (!netlink) return failed(netlink.error());
  const auto devices = devices_of(*netlink, id);
  if (!devices) return failed(devices.error());
  Result<void> result = {};
  for (const auto& device : *devices)
    if (auto removed = netlink->remove_link(device); !removed) result = std::move(removed);
  return result;
}

Result<void> PodNetwork::add_service_address(const std::string& ip) {
  auto netlink = Netlink::open();
  if (!netlink) return failed(netlink.error());
  auto parsed = parse_ipv4(ip);
  if (!parsed) return failed(parsed.error());
  return netlink->add_address(index_, *parsed, 32);
}

Result<void> PodNetwork::remove_service_address(const std::string& ip) {
  auto netlink = Netlink::open();
  if (!netlink) return failed(netlink.error());
  auto parsed = parse_ipv4(ip);
  if (!parsed) return failed(parsed.error());
  return netlink->remove_address(index_, *parsed, 32);
}

}  // namespace manta::local
