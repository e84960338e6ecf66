#include "local/node/host_setup.h"

#include "base/log.h"
#include "local/node/cgroups.h"
#include "local/node/netlink.h"
#include "local/node/run_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

namespace manta::local {

namespace fs = std::filesystem;

constexpr int kSlirpPatienceMs = 10'000;

static bool put(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return done;
}

bool needs_rootless() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return true;
  constexpr std::uint32_t kNeeded = 1u << CAP_SYS_ADMIN | 1u << CAP_NET_ADMIN;
  return geteuid() != 0 || (data[0].effective & kNeeded) != kNeeded;
}

bool has_one_user() {
  std::ifstream in("/proc/self/uid_map");
  std::uint64_t users = 0;
  for (std::uint64_t inside = 0, outside = 0, count = 0; in >> inside >> outside >> count;)
    users += count;
  return users > 0 && users < 65536;
}

static Result<void> become_mapped_root(int more_flags) {
  const auto uid = geteuid();
  const auto gid = getegid();
  if (unshare(CLONE_NEWUSER | more_flags) != 0)
    return failed(ErrorCode::Forbidden,
                  fmt::format("making a user namespace: {}; allow unprivileged user namespaces on "
                              "this machine (sysctl "
                              "user.max_user_namespaces, "
                              "kernel.apparmor_restrict_unprivileged_userns) or run as root",
                              strerror(errno)));
  put("/proc/self/setgroups", "deny");
  if (!put("/proc/self/uid_map", fmt::format("0 {} 1\n", uid)) ||
      !put("/proc/self/gid_map", fmt::format("0 {} 1\n", gid)))
    return failed(ErrorCode::Forbidden,
                  fmt::format("mapping the user in the user namespace: {}", strerror(errno)));
  return {};
}

Result<void> enter_rootless() {
  if (auto done = become_mapped_root(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC); !done) return done;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return failed(ErrorCode::Internal, fmt::format("keeping mounts private: {}", strerror(errno)));
  auto netlink = Netlink::open();
  if (!netlink) return failed(netlink.error());
  auto lo = netlink->index_of("lo");
  if (!lo) return failed(lo.error());
  return netlink->set_up(*lo);
}

UserNetwork UserNetwork::prepare() {
  UserNetwork way;
  int go[2], ready[2];
  if (pipe2(go, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0) return way;
  const int log = memfd_create("slirp4netns", MFD_CLOEXEC);
  const auto daemon = std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    // In a session of its own: Ctrl-C in the daemon's terminal is the daemon's to handle.
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    close(go[1]);
    char word = 0;
    if (read(go[0], &word, 1) != 1) _exit(0);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    dup2(ready[1], 3);
    dup2(go[0], 4);  // ends when the daemon does
    close_range(5, ~0U, 0);
    execlp("slirp4netns", "slirp4netns", "--configure", "--mtu=1500", "--disable-host-loopback",
           "--ready-fd=3", "--exit-fd=4", daemon.c_str(), "tap0", nullptr);
    dprintf(2, "not installed (apt install slirp4netns)");
    _exit(127);
  }
  close(go[0]);
  close(ready[1]);
  way.child_ = child;
  way.go_ = go[1];
  way.ready_ = ready[0];
  way.log_ = log;
  return way;
}

Result<void> UserNetwork::connect() {
  if (child_ < 0 || write(go_, "g", 1) != 1)
    return failed(ErrorCode::Internal, fmt::format("starting slirp4netns: {}", strerror(errno)));
  pollfd wait = {.fd = ready_, .events = POLLIN, .revents = 0};
  char word = 0;
  if (poll(&wait, 1, kSlirpPatienceMs) == 1 && read(ready_, &word, 1) == 1) return {};
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  char text[1024];
  const auto got = pread(log_, text, sizeof text, 0);
  if (got <= 0) return failed(ErrorCode::Unavailable, "slirp4netns was not ready within 10 s");
  const std::string said(text, static_cast<std::size_t>(got));
  return failed(ErrorCode::Unavailable, "slirp4netns: " + said.substr(0, said.find('\n')));
}

Result<void> own_hosts_file(const std::string& path) {
  std::error_code error;
  fs::copy_file("/etc/hosts", path, fs::copy_options::overwrite_existing, error);
  if (error) std::ofstream(path) << "127.0.0.1\tlocalhost\n";
  umount2("/etc/hosts", MNT_DETACH);  // one of an earlier call
  if (mount(path.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0)
    return failed(ErrorCode::Internal,
                  fmt::format("showing {} at /etc/hosts: {}", path, strerror(errno)));
  return {};
}

static bool filters_bridges() {
  std::ifstream in("/proc/sys/net/bridge/bridge-nf-call-iptables");
  int on = 0;
  return (in >> on) && on != 0;
}

/// What a firewall must be told of a bridge, as iptables' words after -I FORWARD.
static std::vector<std::vector<std::string>> firewall_rules(const std::string& bridge) {
  std::vector<std::vector<std::string>> rules;
  if (filters_bridges()) rules.push_back({"-i", bridge, "-o", bridge, "-j", "ACCEPT"});
  // Docker turns the policy around.
  if (run_tool({"iptables", "-S", "FORWARD"}).output.starts_with("-P FORWARD DROP")) {
    rules.push_back({"-i", bridge, "-j", "ACCEPT"});
    rules.push_back(
        {"-o", bridge, "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT"});
  }
  return rules;
}

static bool tell_firewall(const std::string& verb, const std::vector<std::string>& rule) {
  std::vector<std::string> words = {"iptables", verb, "FORWARD"};
  words.insert(words.end(), rule.begin(), rule.end());
  return run_tool(std::move(words)).exit_code == 0;
}

void allow_bridge_traffic(const std::string& bridge) {
  for (const auto& rule : firewall_rules(bridge))
    if (!tell_firewall("-C", rule) && !tell_firewall("-I", rule))
      log::warn("a firewall filters bridges here and could not be told to let Pods through",
                {{"bridge", bridge}});
}

void forbid_bridge_traffic(const std::string& bridge) {
  for (const auto& rule : firewall_rules(bridge)) tell_firewall("-D", rule);
}

bool MachineReport::usable() const {
  return std::ranges::none_of(lines, [](auto& line) { return line.level == Level::Problem; });
}

namespace {

using Level = MachineReport::Level;

/// Runs the check in a child process; its text, empty when all is fine.
std::string in_child(const std::function<std::string()>& check) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return strerror(errno);
  const pid_t pid = fork();
  if (pid == 0) {
    const auto text = check();
    (void)!write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[1024];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return status == 0 ? text : "the check crashed";
}

MachineReport::Line check_kernel() {
  utsname name = {};
  uname(&name);
  int major = 0, minor = 0;
  sscanf(name.release, "%d.%d", &major, &minor);
  if (major > 5 || (major == 5 && minor >= 12)) return {"kernel", Level::Fine, name.release};
  return {"kernel", Level::Problem,
          fmt::format("{}: Linux 5.12 or newer is needed (mount_setattr)", name.release)};
}

MachineReport::Line check_namespaces() {
  const bool rootless = needs_rootless();
  const auto problem = in_child([&]() -> std::string {
    constexpr int kFlags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID;
    if (rootless) {
      auto done = become_mapped_root(kFlags);
      return done ? "" : done.error().message;
    }
    return unshare(kFlags) == 0 ? "" : strerror(errno);
  });
  if (!problem.empty()) return {"namespaces", Level::Problem, problem};
  if (rootless)
    return {"namespaces", Level::Note,
            "without root: by user namespaces; Pods are reached through the API server only"};
  return {"namespaces", Level::Fine, "as root"};
}

MachineReport::Line check_network() {
  const auto problem = in_child([]() -> std::string {
    if (needs_rootless())
      if (auto done = become_mapped_root(CLONE_NEWNET); !done) return done.error().message;
    if (!needs_rootless() && unshare(CLONE_NEWNET) != 0) return strerror(errno);
    auto netlink = Netlink::open();
    if (!netlink) return netlink.error().message;
    if (auto made = netlink->add_bridge("mantatest"); !made) return made.error().message;
    if (auto made = netlink->add_veth("mantatest0", "mantatest1", getpid()); !made)
      return made.error().message;
    return "";
  });
  if (problem.empty()) return {"network", Level::Fine, "bridges and veth pairs can be made"};
  return {"network", Level::Problem, problem + ": the kernel's bridge and veth modules are needed"};
}

MachineReport::Line check_cgroups() {
  const auto cgroups = Cgroups::detect(fmt::format("doctor{}", getpid()));
  Cgroups::destroy(cgroups.roots());
  if (!cgroups.available())
    return {"cgroups", Level::Note, "CPU and memory limits are advice only: " + cgroups.problem()};
  const auto version = fmt::format("version {}", cgroups.version());
  if (!cgroups.problem().empty())
    return {"cgroups", Level::Note, version + ", " + cgroups.problem()};
  return {"cgroups", Level::Fine, version + ": cpu, memory, pids"};
}

MachineReport::Line check_overlay() {
  std::ifstream in("/proc/filesystems");
  for (std::string line; std::getline(in, line);)
    if (line.ends_with("\toverlay")) return {"overlay", Level::Fine, "available"};
  return {"overlay", Level::Note,
          "not loaded (modprobe overlay): roots of images made with --root are read-only"};
}

MachineReport::Line check_tool(const std::string& name, const std::string& without) {
  for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"})
    if (access((folder + name).c_str(), X_OK) == 0) return {name, Level::Fine, folder + name};
  return {name, Level::Note, "missing: " + without};
}

}  // namespace

MachineReport check_machine(const std::string& state_folder) {
  return {{check_kernel(), check_namespaces(), check_network(), check_cgroups(), check_overlay(),
           check_tool("bash", "/bin/sh runs commands written for it"),
           check_tool("wget", "Manta stands in for it in probes"),
           check_tool(needs_rootless() ? "slirp4netns" : "nft", "Pods cannot reach the internet")}};
}

}  // namespace manta::local
