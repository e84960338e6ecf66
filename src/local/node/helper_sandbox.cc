// A Pod's sandbox: one sleeping process that holds the network, IPC, UTS and mount namespaces which
// the Pod's containers join. When it dies, the kernel takes all of that back.
#include "local/node/helper_internal.h"
#include "local/node/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace manta::local::helper {

bool write_text(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const auto wrote = write(fd, text.data(), text.size());
  close(fd);
  return wrote == static_cast<ssize_t>(text.size());
}

template <class T>
static T need(Result<T> result) {
  if (!result) die(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

static void set_up_network(Netlink& host, const SandboxSpec& sandbox) {
  auto inside = need(Netlink::open());
  need(inside.set_up(need(inside.index_of("lo"))));
  need(host.add_veth(sandbox.veth, "eth0", getpid()));
  const int host_end = need(host.index_of(sandbox.veth));
  need(host.set_master(host_end, need(host.index_of(sandbox.bridge))));
  need(host.set_up(host_end));
  const int eth0 = need(inside.index_of("eth0"));
  need(inside.add_address(eth0, need(parse_ipv4(sandbox.address)), sandbox.prefix));
  need(inside.set_up(eth0));
  need(inside.add_default_route(need(parse_ipv4(sandbox.gateway))));
  // As containerd does: no privilege is needed for low ports and ping. Older kernels lack these.
  write_text("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
  write_text("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
}

static void mount_memory_volumes(const SandboxSpec& sandbox) {
  for (const auto& volume : sandbox.tmpfs) {
    std::string options = "mode=1777";
    if (volume.tmpfs_bytes > 0) options += ",size=" + std::to_string(volume.tmpfs_bytes);
    if (mount("tmpfs", volume.target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      die_errno("mounting memory volume " + volume.target);
  }
}

int run_sandbox(const HelperSpec& spec) {
  const auto& sandbox = spec.sandbox;
  const bool own_network = !sandbox.bridge.empty();
  auto host = need(Netlink::open());
  const int flags = CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS | (own_network ? CLONE_NEWNET : 0);
  if (unshare(flags) != 0) die_errno("making the Pod's namespaces");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    die_errno("keeping the Pod's mounts to itself");
  if (sethostname(sandbox.hostname.data(), sandbox.hostname.size()) != 0)
    die_errno("setting host name " + sandbox.hostname);
  if (own_network) set_up_network(host, sandbox);
  mount_memory_volumes(sandbox);
  send_news({.ready = true});
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  int signal = 0;
  sigwait(&set, &signal);
  return 0;
}

/// Connects to 127.0.0.1:port inside the Pod and hands the daemon the connected descriptor.
int run_dial(const HelperSpec& spec) {
  if (spec.sandbox_pid != 0) join_namespaces(spec.sandbox_pid, {"net"});
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(spec.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    die_errno("connecting to port " + std::to_string(spec.port) + " in the Pod", 1);
  auto line = format_news({.ready = true});
  iovec piece = {line.data(), line.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  auto* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(kHelperNewsFd, &message, MSG_NOSIGNAL) < 0)
    die_errno("handing over the connection", 1);
  return 0;
}

}  // namespace manta::local::helper
