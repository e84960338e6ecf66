// The helper process: reads its spec and does one thing. See helper_spec.h.
#include "local/node/helper_internal.h"
#include "local/node/helper_spec.h"
#include "local/node/wget.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace manta::local {

bool is_helper_call(int argc, char** argv) {
  if (argc < 1) return false;
  const std::string_view name(argv[0]);
  if (name == "wget" || name.ends_with("/wget")) return true;
  return argc > 1 && argv[1] == kHelperArgument;
}

namespace helper {

void send_news(const HelperNews& news) {
  const auto line = format_news(news);
  // The daemon may be gone; then nobody is left to tell.
  (void)!::send(kHelperNewsFd, line.data(), line.size(), MSG_NOSIGNAL);
}

void die(const std::string& what, int exit_code) {
  send_news({.exit_code = exit_code, .error = what});
  _exit(exit_code);
}

void die_errno(const std::string& what, int exit_code) {
  const int error = errno;
  die(what + ": " + strerror(error), exit_code);
}

void die_with_parent(std::int64_t parent_pid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (parent_pid > 0 && getppid() != parent_pid) _exit(1);  // it died before we could ask
}

static std::string read_all(int fd) {
  std::string text;
  char buffer[16384];
  for (;;) {
    const auto got = read(fd, buffer, sizeof buffer);
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

static int run_remove(const HelperSpec& spec) {
  for (const auto& path : spec.paths) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    // Two may remove at once: a container's folder and the whole Pod's.
    if (error && error != std::errc::no_such_file_or_directory)
      send_news({.notice = "removing " + path + ": " + error.message()});
  }
  return 0;
}

static int run(const HelperSpec& spec) {
  if (spec.mode == "sandbox") return run_sandbox(spec);
  if (spec.mode == "container") return run_container(spec);
  if (spec.mode == "exec") return run_exec(spec);
  if (spec.mode == "dial") return run_dial(spec);
  if (spec.mode == "remove") return run_remove(spec);
  die("unknown helper mode " + spec.mode, 1);
}

}  // namespace helper

int helper_main(int argc, char** argv) {
  if (argc < 2 || argv[1] != kHelperArgument) return wget_main(argc, argv);
  umask(022);
  // Whatever the daemon has open (its sockets know no CLOEXEC) must not reach a container.
  close_range(kHelperNewsFd + 1, ~0u, 0);
  fcntl(kHelperNewsFd, F_SETFD, FD_CLOEXEC);
  auto spec = parse_helper_spec(helper::read_all(kHelperSpecFd));
  close(kHelperSpecFd);
  if (!spec) helper::die(spec.error().message, 1);
  helper::die_with_parent(spec->parent_pid);
  return helper::run(*spec);
}

}  // namespace manta::local
