#include "cli/daemon_parts.h"

#include "base/text.h"
#include "cli/daemon.h"
#include "local/controllers/views.h"
#include "local/images/image_index.h"
#include "local/node/netlink.h"
#include "ray/crd.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace manta::cli {
namespace {

constexpr const char* kServiceNetwork = "10.96.0.0/16";
constexpr std::uintmax_t kLogLimit = 8u << 20;

/// The port that the kernel gives for it; nothing when it is taken.
std::optional<std::uint16_t> try_port(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      ::bind(fd, raw, size) == 0 && ::listen(fd, 1) == 0 && ::getsockname(fd, raw, &size) == 0;
  ::close(fd);
  if (!bound) return std::nullopt;
  return ntohs(address.sin_port);
}

Task<Result<void>> install_one(kube::Api& api, Json wanted) {
  const auto key = kube::key_of(wanted);
  auto have = co_await api.get(kube::kCustomResourceDefinitions, key);
  if (!have && have.error().code != ErrorCode::NotFound) co_return failed(have.error());
  if (!have) {
    auto made = co_await api.create(kube::kCustomResourceDefinitions, std::move(wanted));
    if (!made) co_return failed(made.error());
    co_return Result<void>{};
  }
  const auto* spec = find(wanted, {"spec"});
  if (spec == nullptr || local::covers(*find(*have, {"spec"}), *spec)) co_return Result<void>{};
  have->as_object()["spec"] = *spec;
  auto updated = co_await api.update(kube::kCustomResourceDefinitions, std::move(*have));
  if (!updated) co_return failed(updated.error());
  co_return Result<void>{};
}

}  // namespace

Result<std::uint16_t> choose_port(std::optional<std::uint16_t> asked,
                                  std::optional<std::uint16_t> last) {
  if (asked) {
    if (const auto port = try_port(*asked)) return *port;
    return failed(ErrorCode::Unavailable,
                  fmt::format("port {} on 127.0.0.1 is taken; choose another one with --port, or 0 "
                              "for any that is free",
                              *asked));
  }
  for (const auto candidate : {last.value_or(kUsualPort), kUsualPort, std::uint16_t{0}})
    if (const auto port = try_port(candidate)) return *port;
  return failed(ErrorCode::Unavailable, "no port is free on 127.0.0.1");
}

std::string first_service_ip(const std::string& network) {
  const auto net = local::parse_ipv4_net(network);
  return net ? local::format_ipv4(net->address + 1) : "";
}

Result<std::string> choose_service_network(const Paths& paths, bool with_node) {
  const auto file = paths.home / "service-cidr";
  if (auto kept = local::read_file(file)) {
    const std::string text(trim(*kept, " \t\r\n"));
    if (const auto net = local::parse_ipv4_net(text); net && net->prefix >= 8 && net->prefix <= 24)
      return text;
    return failed(ErrorCode::Invalid,
                  fmt::format("{} should hold the network of the Services, such as {}, and has "
                              "\"{}\"; with the file deleted, {} is used",
                              file.string(), kServiceNetwork, text, kServiceNetwork));
  }
  std::string chosen = kServiceNetwork;
  std::error_code code;
  const bool first_start = !std::filesystem::exists(paths.store(), code);
  auto netlink = local::Netlink::open();
  const auto routes = netlink ? netlink->routes() : failed(netlink.error());
  if (with_node && first_start && routes)
    for (std::uint32_t second = 96; second < 128; ++second) {
      const local::Ipv4Net net{(10u << 24) | (second << 16), 16};
      if (std::ranges::any_of(*routes, [&](const auto& route) { return route.overlaps(net); }))
        continue;
      chosen = fmt::format("{}/{}", local::format_ipv4(net.address), net.prefix);
      break;
    }
  if (auto kept = local::write_file_whole(file, chosen + "\n"); !kept) return failed(kept.error());
  return chosen;
}

Task<Result<void>> install_crds(kube::Api& api) {
  for (auto& crd : ray::ray_crds()) {
    auto done = co_await install_one(api, std::move(crd.object));
    if (!done) co_return failed(done.error().in("installing " + crd.file));
  }
  co_return Result<void>{};
}

void rotate_log(const std::string& path) {
  std::error_code code;
  if (const auto size = std::filesystem::file_size(path, code); code || size < kLogLimit) return;
  std::filesystem::rename(path, path + ".1", code);
}

}  // namespace manta::cli
