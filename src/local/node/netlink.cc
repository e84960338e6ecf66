#include "local/node/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <utility>

namespace manta::local {

Result<std::uint32_t> parse_ipv4(std::string_view text) {
  in_addr address = {};
  if (inet_pton(AF_INET, std::string(text).c_str(), &address) != 1)
    return failed(ErrorCode::Invalid, fmt::format("\"{}\" is no IPv4 address", text));
  return ntohl(address.s_addr);
}

std::string format_ipv4(std::uint32_t ip) {
  return fmt::format("{}.{}.{}.{}", ip >> 24, (ip >> 16) & 255, (ip >> 8) & 255, ip & 255);
}

Result<Ipv4Net> parse_ipv4_net(std::string_view text) {
  const auto slash = text.find('/');
  auto ip = parse_ipv4(text.substr(0, slash));
  if (!ip) return failed(ip.error());
  Ipv4Net net{*ip, 32};
  if (slash != std::string_view::npos) {
    const auto tail = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), net.prefix);
    if (error != std::errc{} || end != tail.data() + tail.size() || net.prefix < 0 ||
        net.prefix > 32)
      return failed(ErrorCode::Invalid,
                    fmt::format("\"{}\" is no IPv4 network like 10.244.0.0/16", text));
  }
  net.address &= net.mask();
  return net;
}

namespace {

/// Builds one netlink message; attributes may nest.
class Message {
 public:
  Message(std::uint16_t type, std::uint16_t flags) {
    nlmsghdr header = {};
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
    append(&header, sizeof header);
  }
  template <class Body>
  Message& body(const Body& value) {
    append(&value, sizeof value);
    return *this;
  }
  Message& attribute(std::uint16_t type, const void* data, std::size_t size) {
    rtattr header = {};
    header.rta_type = type;
    header.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
    append(&header, sizeof header);
    append(data, size);
    return *this;
  }
  Message& text(std::uint16_t type, const std::string& value) {
    return attribute(type, value.c_str(), value.size() + 1);
  }
  Message& u32(std::uint16_t type, std::uint32_t value) {
    return attribute(type, &value, sizeof value);
  }
  std::size_t open(std::uint16_t type) {
    const auto at = bytes_.size();
    attribute(type, nullptr, 0);
    return at;
  }
  void close(std::size_t at) {
    auto* header = reinterpret_cast<rtattr*>(bytes_.data() + at);
    header->rta_len = static_cast<std::uint16_t>(bytes_.size() - at);
  }
  std::string& bytes() { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    if (size != 0) bytes_.append(static_cast<const char*>(data), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  std::string bytes_ = {};
};

ErrorCode code_of(int error) {
  if (error == ENODEV || error == ENOENT || error == ESRCH || error == EADDRNOTAVAIL)
    return ErrorCode::NotFound;
  if (error == EEXIST) return ErrorCode::AlreadyExists;
  if (error == EPERM || error == EACCES) return ErrorCode::Forbidden;
  return ErrorCode::Internal;
}

Result<void> describe(Result<void> result, std::string what) {
  if (!result) return failed(result.error().in(what));
  return {};
}

template <class Visit>
void each_message(const std::string& answers, Visit visit) {
  auto left = static_cast<int>(answers.size());
  for (auto* h = reinterpret_cast<const nlmsghdr*>(answers.data());
       NLMSG_OK(h, static_cast<unsigned>(left)); h = NLMSG_NEXT(h, left))
    visit(*h);
}

}  // namespace

Result<Netlink> Netlink::open() {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0)
    return failed(ErrorCode::Internal,
                  fmt::format("opening a netlink socket: {}", strerror(errno)));
  return Netlink(fd);
}
Netlink::Netlink(Netlink&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), sequence_(other.sequence_) {}
Netlink::~Netlink() {
  if (fd_ >= 0) close(fd_);
}

/// Sends one request and reads to its acknowledgement, or to the end of a dump.
Result<void> Netlink::exchange(std::string& request, std::string* answers) {
  auto* header = reinterpret_cast<nlmsghdr*>(request.data());
  header->nlmsg_len = static_cast<std::uint32_t>(request.size());
  header->nlmsg_seq = ++sequence_;
  if (answers == nullptr) header->nlmsg_flags |= NLM_F_ACK;
  if (send(fd_, request.data(), request.size(), 0) < 0)
    return failed(ErrorCode::Internal, fmt::format("netlink send: {}", strerror(errno)));
  std::string buffer(65536, '\0');
  for (;;) {
    const auto got = recv(fd_, buffer.data(), buffer.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return failed(ErrorCode::Internal, fmt::format("netlink receive: {}", strerror(errno)));
    }
    auto left = static_cast<int>(got);
    for (auto* h = reinterpret_cast<nlmsghdr*>(buffer.data());
         NLMSG_OK(h, static_cast<unsigned>(left)); h = NLMSG_NEXT(h, left)) {
      if (h->nlmsg_seq != sequence_) continue;
      if (h->nlmsg_type == NLMSG_DONE) return {};
      if (h->nlmsg_type == NLMSG_ERROR) {
        const int error = -static_cast<nlmsgerr*>(NLMSG_DATA(h))->error;
        if (error == 0) return {};
        return failed(code_of(error), strerror(error));
      }
      if (answers != nullptr)
        answers->append(reinterpret_cast<char*>(h), NLMSG_ALIGN(h->nlmsg_len));
    }
  }
}

Result<int> Netlink::index_of(const std::string& link) {
  // The ioctl behind if_nametoindex would use the caller's namespace, not this socket's.
  Message message(RTM_GETLINK, NLM_F_DUMP);
  message.body(ifinfomsg{});
  std::string answers;
  if (auto done = exchange(message.bytes(), &answers); !done)
    return failed(done.error().in("listing links"));
  int index = 0;
  each_message(answers, [&](const nlmsghdr& h) {
    auto* info = static_cast<const ifinfomsg*>(NLMSG_DATA(&h));
    int left = static_cast<int>(h.nlmsg_len - NLMSG_LENGTH(sizeof *info));
    for (auto* a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left))
      if (a->rta_type == IFLA_IFNAME && link == static_cast<const char*>(RTA_DATA(a)))
        index = info->ifi_index;
  });
  if (index == 0) return failed(ErrorCode::NotFound, fmt::format("no network device {}", link));
  return index;
}

Result<std::vector<std::string>> Netlink::links() {
  Message message(RTM_GETLINK, NLM_F_DUMP);
  message.body(ifinfomsg{});
  std::string answers;
  if (auto done = exchange(message.bytes(), &answers); !done)
    return failed(done.error().in("listing links"));
  std::vector<std::string> names;
  each_message(answers, [&](const nlmsghdr& h) {
    auto* info = static_cast<const ifinfomsg*>(NLMSG_DATA(&h));
    int left = static_cast<int>(h.nlmsg_len - NLMSG_LENGTH(sizeof *info));
    for (auto* a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left))
      if (a->rta_type == IFLA_IFNAME) names.emplace_back(static_cast<const char*>(RTA_DATA(a)));
  });
  return names;
}

Result<void> Netlink::add_bridge(const std::string& name) {
  Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  message.body(ifinfomsg{}).text(IFLA_IFNAME, name);
  const auto info = message.open(IFLA_LINKINFO);
  message.text(IFLA_INFO_KIND, "bridge");
  message.close(info);
  return describe(exchange(message.bytes(), nullptr), "making bridge " + name);
}

Result<void> Netlink::add_veth(const std::string& name, const std::string& peer, int peer_pid) {
  Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  message.body(ifinfomsg{}).text(IFLA_IFNAME, name);
  const auto info = message.open(IFLA_LINKINFO);
  message.text(IFLA_INFO_KIND, "veth");
  const auto data = message.open(IFLA_INFO_DATA);
  const auto other = message.open(VETH_INFO_PEER);
  message.body(ifinfomsg{})
      .text(IFLA_IFNAME, peer)
      .u32(IFLA_NET_NS_PID, static_cast<std::uint32_t>(peer_pid));
  message.close(other);
  message.close(data);
  message.close(info);
  return describe(exchange(message.bytes(), nullptr), "making veth pair " + name);
}

Result<void> Netlink::remove_link(const std::string& name) {
  Message message(RTM_DELLINK, 0);
  message.body(ifinfomsg{}).text(IFLA_IFNAME, name);
  auto done = exchange(message.bytes(), nullptr);
  if (!done && done.error().code == ErrorCode::NotFound) return {};
  return describe(std::move(done), "removing link " + name);
}

Result<void> Netlink::set_up(int index) {
  ifinfomsg info = {};
  info.ifi_index = index;
  info.ifi_flags = IFF_UP;
  info.ifi_change = IFF_UP;
  Message message(RTM_NEWLINK, 0);
  message.body(info);
  return describe(exchange(message.bytes(), nullptr), "bringing a link up");
}

Result<void> Netlink::set_master(int index, int bridge_index) {
  ifinfomsg info = {};
  info.ifi_index = index;
  Message message(RTM_NEWLINK, 0);
  message.body(info).u32(IFLA_MASTER, static_cast<std::uint32_t>(bridge_index));
  return describe(exchange(message.bytes(), nullptr), "joining the bridge");
}

static Message address_message(std::uint16_t type, std::uint16_t flags, int index, std::uint32_t ip,
                               int prefix) {
  ifaddrmsg info = {};
  info.ifa_family = AF_INET;
  info.ifa_prefixlen = static_cast<std::uint8_t>(prefix);
  info.ifa_index = static_cast<std::uint32_t>(index);
  Message message(type, flags);
  message.body(info).u32(IFA_LOCAL, htonl(ip)).u32(IFA_ADDRESS, htonl(ip));
  return message;
}

Result<void> Netlink::add_address(int index, std::uint32_t ip, int prefix) {
  auto message = address_message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, index, ip, prefix);
  auto done = exchange(message.bytes(), nullptr);
  if (!done && done.error().code == ErrorCode::AlreadyExists) return {};
  return describe(std::move(done), "adding address " + format_ipv4(ip));
}

Result<void> Netlink::remove_address(int index, std::uint32_t ip, int prefix) {
  auto message = address_message(RTM_DELADDR, 0, index, ip, prefix);
  auto done = exchange(message.bytes(), nullptr);
  if (!done && done.error().code == ErrorCode::NotFound) return {};
  return describe(std::move(done), "removing address " + format_ipv4(ip));
}

Result<void> Netlink::add_default_route(std::uint32_t gateway) {
  rtmsg route = {};
  route.rtm_family = AF_INET;
  route.rtm_table = RT_TABLE_MAIN;
  route.rtm_protocol = RTPROT_BOOT;
  route.rtm_scope = RT_SCOPE_UNIVERSE;
  route.rtm_type = RTN_UNICAST;
  Message message(RTM_NEWROUTE, NLM_F_CREATE);
  message.body(route).u32(RTA_GATEWAY, htonl(gateway));
  return describe(exchange(message.bytes(), nullptr), "adding the default route");
}

Result<std::vector<Ipv4Net>> Netlink::routes() {
  rtmsg route = {};
  route.rtm_family = AF_INET;
  Message message(RTM_GETROUTE, NLM_F_DUMP);
  message.body(route);
  std::string answers;
  if (auto done = exchange(message.bytes(), &answers); !done)
    return failed(done.error().in("listing routes"));
  std::vector<Ipv4Net> nets;
  each_message(answers, [&](const nlmsghdr& h) {
    auto* info = static_cast<const rtmsg*>(NLMSG_DATA(&h));
    if (info->rtm_dst_len == 0) return;
    int left = static_cast<int>(h.nlmsg_len - NLMSG_LENGTH(sizeof *info));
    for (auto* a = RTM_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
      if (a->rta_type != RTA_DST) continue;
      std::uint32_t destination = 0;
      memcpy(&destination, RTA_DATA(a), sizeof destination);
      nets.push_back({ntohl(destination), info->rtm_dst_len});
    }
  });
  return nets;
}

}  // namespace manta::local
