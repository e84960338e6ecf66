#include "cli/launch.h"

#include "cli/daemon_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace manta::cli {
namespace {

constexpr int kStartPatienceMs = 60'000;
constexpr int kEndPatienceMs = 10'000;

/// Between fork and exec: only calls that are safe after a fork.
[[noreturn]] void become_daemon(const char* program, char* const* arguments, const char* log,
                                int ready_fd, HeldSignals& held) {
  ::setsid();
  held.release();
  const int null = ::open("/dev/null", O_RDWR);
  const int out = ::open(log, O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (out < 0) {
    ::dprintf(ready_fd, "error cannot open the log file %s: %s\n", log, std::strerror(errno));
    ::_exit(1);
  }
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::dup2(ready_fd, 3);
  ::close_range(4, ~0U, 0);
  ::execv(program, arguments);
  ::dprintf(3, "error cannot start %s: %s\n", program, std::strerror(errno));
  ::_exit(1);
}

/// What the daemon says until it closes its end; Timeout when it says nothing, Cancelled when a
/// signal comes first.
Result<std::string> read_report(int fd, HeldSignals& held) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (!text.ends_with('\n')) {
    std::array<pollfd, 2> entries{{{.fd = fd, .events = POLLIN, .revents = 0},
                                   {.fd = held.fd(), .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(entries.data(), entries.size(), kStartPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return failed(ErrorCode::Timeout, "the daemon was not ready within a minute");
    if (held.take() != 0) return failed(ErrorCode::Cancelled, "interrupted");
    const auto got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), std::size_t(got));
  }
  return text;
}

/// Ends a child that is not to be: politely, so that it takes along what it has made so far.
void end_child(pid_t child, bool politely) {
  if (politely) ::kill(child, SIGTERM);
  for (int i = 0; politely && i < kEndPatienceMs / 10; ++i) {
    if (::waitpid(child, nullptr, WNOHANG) != 0) return;
    ::poll(nullptr, 0, 10);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// Another's daemon that holds the lock but is not ready yet; nothing when it ends instead.
Result<std::optional<DaemonState>> await_daemon(const Paths& paths, HeldSignals& held) {
  for (int waited = 0; waited < kStartPatienceMs && is_locked(paths); waited += 20) {
    if (auto state = running_daemon(paths)) return state;
    if (held.take() != 0) return failed(ErrorCode::Cancelled, "interrupted");
    ::poll(nullptr, 0, 20);
  }
  if (!is_locked(paths)) return std::nullopt;
  return failed(
      ErrorCode::Timeout,
      fmt::format("another manta is starting on {} and does not get ready", paths.home.string()));
}

Result<Launch> start_daemon(const Paths& paths, const DaemonOptions& options, HeldSignals& held);

}  // namespace

Result<Launch> launch_daemon(const Paths& paths, const DaemonOptions& options, HeldSignals& held) {
  auto other = await_daemon(paths, held);
  if (!other) return failed(other.error());
  if (*other) return Launch{.state = **other};
  auto started = start_daemon(paths, options, held);
  if (started || started.error().code == ErrorCode::Cancelled || !is_locked(paths)) return started;
  // Two started at once, and the other one got the lock.
  other = await_daemon(paths, held);
  if (!other) return failed(other.error());
  if (*other) return Launch{.state = **other};
  return started;
}

void report_ready(int fd) {
  if (fd < 0) return;
  (void)!::write(fd, "ready\n", 6);
  ::close(fd);
}

void report_failure(int fd, const std::string& message) {
  if (fd < 0) return;
  ::dprintf(fd, "error %s\n", message.c_str());
  ::close(fd);
}

namespace {

Result<Launch> start_daemon(const Paths& paths, const DaemonOptions& options, HeldSignals& held) {
  std::vector<std::string> words{
      "manta", "up", "--foreground", "--data-dir", paths.home.string(), "--ready-fd", "3"};
  if (options.port) words.insert(words.end(), {"--port", std::to_string(*options.port)});
  if (options.control_plane_only) words.emplace_back("--control-plane-only");
  if (options.control_plane_only && options.with_operator) words.emplace_back("--operator");
  if (!options.control_plane_only && !options.with_operator) words.emplace_back("--no-operator");
  if (!options.outbound) words.emplace_back("--no-outbound");
  if (options.for_runs) words.emplace_back("--for-runs");
  if (!options.feature_gates.empty())
    words.insert(words.end(), {"--feature-gates", options.feature_gates});
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto log = paths.log().string();
  rotate_log(log);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return failed(ErrorCode::Internal, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const auto child = ::fork();
  if (child < 0)
    return failed(ErrorCode::Internal, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (child == 0) become_daemon("/proc/self/exe", arguments.data(), log.c_str(), ends[1], held);
  ::close(ends[1]);
  const auto report = read_report(ends[0], held);
  if (report && report->starts_with("ready")) {
    ::close(ends[0]);
    if (auto state = running_daemon(paths)) return Launch{.state = std::move(*state), .ours = true};
  }
  if (!report) {
    end_child(child, report.error().code == ErrorCode::Cancelled);
    ::close(ends[0]);  // not before: it still wants to tell
    if (report.error().code == ErrorCode::Cancelled) return failed(report.error());
  } else {
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
  }
  if (!report) return failed(report.error().in("starting manta (its log is " + log + ")"));
  if (report->starts_with("error ")) {
    auto message = report->substr(6);
    message.erase(message.find_last_not_of('\n') + 1);
    return failed(ErrorCode::Unavailable, std::move(message));
  }
  return failed(ErrorCode::Unavailable, "the daemon ended while starting; its log is " + log);
}

}  // namespace

void tell_daemon_to_stop(const Paths& paths) {
  if (const auto state = running_daemon(paths)) ::kill(pid_t(state->pid), SIGTERM);
}

Result<StopOutcome> stop_daemon(const Paths& paths, int patience_seconds) {
  const auto wait_gone = [&](int seconds) {
    for (int i = 0; i < seconds * 50 && is_locked(paths); ++i) ::poll(nullptr, 0, 20);
    return !is_locked(paths);
  };
  if (!is_locked(paths)) return StopOutcome::WasNotRunning;
  auto state = read_state(paths);
  // One that is just starting has no state yet; it will, or it will be gone.
  for (int waited = 0; !state && waited < kStartPatienceMs && is_locked(paths); waited += 20) {
    ::poll(nullptr, 0, 20);
    state = read_state(paths);
  }
  if (!state && !is_locked(paths)) return StopOutcome::WasNotRunning;
  if (!state)
    return failed(ErrorCode::Unavailable,
                  fmt::format("manta holds {} but does not say who it is", paths.lock().string()));
  if (::kill(pid_t(state->pid), SIGTERM) != 0 && errno != ESRCH)
    return failed(ErrorCode::Forbidden,
                  fmt::format("cannot stop manta (pid {}): {}", state->pid, std::strerror(errno)));
  if (wait_gone(patience_seconds)) return StopOutcome::Stopped;
  ::kill(pid_t(state->pid), SIGKILL);
  if (wait_gone(5)) return StopOutcome::Killed;
  return failed(ErrorCode::Timeout, fmt::format("manta (pid {}) does not end", state->pid));
}

}  // namespace manta::cli
