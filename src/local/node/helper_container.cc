// A container: this helper stays on the host's side and waits; its child is PID 1 of the container,
// which reaps and forwards signals; that one's child is the program.
#include "local/node/helper_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace manta::local::helper {

namespace {

pid_t forward_to = 0;  // whom signal handlers pass signals on to
bool forward_group = false;

/// SIGRTMIN is the daemon's "kill it": SIGKILL for the child.
void forward(int signal) {
  if (forward_to <= 0) return;
  const int send = signal == SIGRTMIN ? SIGKILL : signal;
  kill(forward_group ? -forward_to : forward_to, send);
}

void forward_signals(bool with_kill) {
  struct sigaction action = {};
  action.sa_handler = forward;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT})
    sigaction(signal, &action, nullptr);
  if (with_kill) sigaction(SIGRTMIN, &action, nullptr);
}

HelperNews end_of(int status) {
  HelperNews news = {.ended = true};
  if (WIFSIGNALED(status)) {
    news.signal = WTERMSIG(status);
    news.exit_code = 128 + news.signal;
  } else {
    news.exit_code = WEXITSTATUS(status);
  }
  return news;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void close_standard_streams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd : {0, 1, 2})
    if (null >= 0) dup2(null, fd);
}

/// PID 1: reaps whatever ends here until the program does.
[[noreturn]] void run_init(const HelperSpec& spec, int go_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char go = 0;
  if (read(go_fd, &go, 1) != 1) _exit(1);  // our parent died before it could tell us
  close(go_fd);
  join_cgroups(spec.cgroup_procs);
  enter_root(spec);
  const pid_t program = start_program(spec.process);
  forward_to = program;
  forward_signals(false);
  close_standard_streams();  // the log ends with the program, not with us
  send_news({.started = true});
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended != program) {
      if (ended < 0) _exit(1);
      continue;
    }
    send_news(end_of(status));
    _exit(end_of(status).exit_code);
  }
}

}  // namespace

void join_namespaces(std::int64_t pid, std::initializer_list<const char*> names) {
  std::vector<int> fds;
  for (const char* name : names) {
    const auto path = "/proc/" + std::to_string(pid) + "/ns/" + name;
    fds.push_back(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fds.back() < 0) die_errno("opening " + path, 126);
  }
  for (int fd : fds) {
    if (setns(fd, 0) != 0) die_errno("joining a namespace of process " + std::to_string(pid), 126);
    close(fd);
  }
}

void join_cgroups(const std::vector<std::string>& procs_files) {
  for (const auto& path : procs_files)
    if (!write_text(path, "0")) die_errno("joining cgroup " + path);
}

pid_t start_program(const ProcessSpec& process) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) die_errno("making a pipe");
  const pid_t program = fork();
  if (program < 0) die_errno("fork");
  if (program == 0) {
    close(pipe_fds[0]);
    become(process, pipe_fds[1]);
  }
  close(pipe_fds[1]);
  char failed = 0;
  const auto got = read(pipe_fds[0], &failed, 1);
  close(pipe_fds[0]);
  if (got > 0) {  // it has sent the reason itself
    wait_for(program);
    _exit(static_cast<unsigned char>(failed));
  }
  return program;
}

int run_container(const HelperSpec& spec) {
  forward_signals(true);
  join_namespaces(spec.sandbox_pid, {"mnt", "net", "ipc", "uts"});
  if (unshare(CLONE_NEWNS | (spec.host_pid ? 0 : CLONE_NEWPID)) != 0)
    die_errno("making the container's namespaces");
  int go[2];
  if (pipe2(go, O_CLOEXEC) != 0) die_errno("making a pipe");
  const pid_t init = fork();
  if (init < 0) die_errno("fork");
  if (init == 0) {
    close(go[1]);
    run_init(spec, go[0]);
  }
  forward_to = init;
  close(go[0]);
  send_news({.pid = init});
  (void)!write(go[1], "", 1);
  close(go[1]);
  close_standard_streams();
  const int status = wait_for(init);
  // init tells how the program ended; when init itself was killed, with all it held, we do.
  if (WIFSIGNALED(status)) send_news(end_of(status));
  return 0;
}

int run_exec(const HelperSpec& spec) {
  forward_signals(true);
  join_cgroups(spec.cgroup_procs);
  join_namespaces(spec.container_pid, {"net", "ipc", "uts", "pid", "mnt"});
  const pid_t program = start_program(spec.process);
  forward_to = program;
  forward_group = true;
  close_standard_streams();
  send_news({.started = true});
  send_news(end_of(wait_for(program)));
  return 0;
}

}  // namespace manta::local::helper
