// From a helper's child to the user's program: terminal, limits, capabilities, ids, exec.
#include "local/node/helper_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace manta::local::helper {
namespace {

// By number, as linux/capability.h has them.
constexpr std::array<std::string_view, 41> kCapabilities = {"CHOWN",
                                                            "DAC_OVERRIDE",
                                                            "DAC_READ_SEARCH",
                                                            "FOWNER",
                                                            "FSETID",
                                                            "KILL",
                                                            "SETGID",
                                                            "SETUID",
                                                            "SETPCAP",
                                                            "LINUX_IMMUTABLE",
                                                            "NET_BIND_SERVICE",
                                                            "NET_BROADCAST",
                                                            "NET_ADMIN",
                                                            "NET_RAW",
                                                            "IPC_LOCK",
                                                            "IPC_OWNER",
                                                            "SYS_MODULE",
                                                            "SYS_RAWIO",
                                                            "SYS_CHROOT",
                                                            "SYS_PTRACE",
                                                            "SYS_PACCT",
                                                            "SYS_ADMIN",
                                                            "SYS_BOOT",
                                                            "SYS_NICE",
                                                            "SYS_RESOURCE",
                                                            "SYS_TIME",
                                                            "SYS_TTY_CONFIG",
                                                            "MKNOD",
                                                            "LEASE",
                                                            "AUDIT_WRITE",
                                                            "AUDIT_CONTROL",
                                                            "SETFCAP",
                                                            "MAC_OVERRIDE",
                                                            "MAC_ADMIN",
                                                            "SYSLOG",
                                                            "WAKE_ALARM",
                                                            "BLOCK_SUSPEND",
                                                            "AUDIT_READ",
                                                            "PERFMON",
                                                            "BPF",
                                                            "CHECKPOINT_RESTORE"};

[[noreturn]] void fail(int error_fd, const std::string& what, int exit_code) {
  send_news({.exit_code = exit_code, .error = what});
  const auto code = static_cast<char>(exit_code);
  (void)!write(error_fd, &code, 1);
  _exit(exit_code);
}

[[noreturn]] void fail_errno(int error_fd, const std::string& what, int exit_code) {
  const int error = errno;
  fail(error_fd, what + ": " + strerror(error), exit_code);
}

std::uint64_t wanted_capabilities(const CredentialSpec& credentials) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kCapabilities.size(); ++i)
    if (std::ranges::find(credentials.capabilities, kCapabilities[i]) !=
        credentials.capabilities.end())
      mask |= 1ull << i;
  return mask;
}

void drop_bounding_set(std::uint64_t keep) {
  for (unsigned i = 0; prctl(PR_CAPBSET_READ, i) >= 0; ++i)
    if (i >= 64 || (keep >> i & 1) == 0) prctl(PR_CAPBSET_DROP, i);  // EINVAL ends the loop's test
}

bool set_capabilities(std::uint64_t keep) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (int half : {0, 1}) {
    const auto mask = static_cast<std::uint32_t>(keep >> (32 * half));
    data[half].permitted &= mask;
    data[half].effective = data[half].permitted;
    data[half].inheritable = 0;
  }
  return syscall(SYS_capset, &header, data) == 0;
}

void change_ids(const CredentialSpec& c, int error_fd) {
  const auto keep = wanted_capabilities(c);
  if (!c.privileged) drop_bounding_set(keep);
  if (!c.keep_ids) {
    std::vector<gid_t> groups;
    for (auto group : c.groups) groups.push_back(static_cast<gid_t>(group));
    const auto gid = static_cast<gid_t>(c.gid);
    const auto uid = static_cast<uid_t>(c.uid);
    if (setgroups(groups.size(), groups.data()) != 0)
      fail_errno(error_fd, "setting the groups", 128);
    if (setresgid(gid, gid, gid) != 0)
      fail_errno(error_fd, "becoming group " + std::to_string(c.gid), 128);
    if (setresuid(uid, uid, uid) != 0)
      fail_errno(error_fd, "becoming user " + std::to_string(c.uid), 128);
  }
  // A user other than root has lost them all by now.
  if (!c.privileged && (c.keep_ids || c.uid == 0) && !set_capabilities(keep))
    fail_errno(error_fd, "dropping capabilities", 128);
  if (c.no_new_privileges) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void raise_open_files() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1048576);
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string_view path_of(const std::vector<std::string>& env) {
  std::string_view path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  for (const auto& entry : env)
    if (entry.starts_with("PATH=")) path = std::string_view(entry).substr(5);
  return path;
}

/// The program's path, looked up as execvp does but in the container's PATH; empty: not found.
std::string look_up(const std::string& name, const std::vector<std::string>& env) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), F_OK) == 0 ? name : "";
  auto path = path_of(env);
  while (!path.empty()) {
    const auto colon = std::min(path.find(':'), path.size());
    const auto candidate = std::string(path.substr(0, colon)) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return "";
}

}  // namespace

void become(const ProcessSpec& process, int error_fd) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &action, nullptr);
  setsid();
  if (process.tty) ioctl(0, TIOCSCTTY, 0);
  write_text("/proc/self/oom_score_adj",
             std::to_string(process.oom_score_adj));  // lowering may be refused
  raise_open_files();
  umask(022);
  if (!process.cwd.empty()) {
    make_folders(process.cwd);
    if (chdir(process.cwd.c_str()) != 0)
      fail_errno(error_fd, "working directory " + process.cwd, 128);
  }
  change_ids(process.credentials, error_fd);

  if (process.argv.empty() || process.argv[0].empty())
    fail(error_fd, "no command: the container gives none and the image has no default", 128);
  auto file = look_up(process.argv[0], process.env);
  if (file.empty() && process.argv[0].ends_with("bash")) {
    // Ray's commands start with /bin/bash; a machine without it has sh, which reads them as well.
    file = look_up("/bin/sh", process.env);
    if (!file.empty())
      send_news({.notice = "no " + process.argv[0] + " here, /bin/sh runs the command"});
  }
  if (file.empty())
    fail(error_fd,
         "exec: \"" + process.argv[0] + "\": " +
             (process.argv[0].find('/') == std::string::npos ? "executable file not found in $PATH"
                                                             : "no such file or directory"),
         127);
  std::vector<char*> argv;
  for (const auto& word : process.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> env;
  for (const auto& entry : process.env) env.push_back(const_cast<char*>(entry.c_str()));
  env.push_back(nullptr);
  execve(file.c_str(), argv.data(), env.data());
  fail_errno(error_fd, "exec: \"" + process.argv[0] + "\"", 126);
}

}  // namespace manta::local::helper
