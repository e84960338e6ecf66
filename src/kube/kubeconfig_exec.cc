#include "kube/kubeconfig_exec.h"

#include "base/async.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace manta::kube {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kMaxOutput = 1 << 20;

struct Child {
  pid_t pid = 0;
  int out = -1;
};

std::string find_program(const std::string& command, const StringMap& environment) {
  if (command.find('/') != std::string::npos)
    return access(command.c_str(), X_OK) == 0 ? command : "";
  const auto path = environment.find("PATH");
  std::string_view rest =
      path == environment.end() ? std::string_view("/usr/local/bin:/usr/bin:/bin") : path->second;
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const auto candidate = fmt::format("{}/{}", folder, command);
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

Result<Child> spawn(const std::string& program, const std::vector<std::string>& arguments,
                    const StringMap& environment, bool interactive) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return failed(ErrorCode::Internal, fmt::format("pipe: {}", std::strerror(errno)));
  std::vector<char*> argv, envp;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  std::vector<std::string> pairs;
  pairs.reserve(environment.size());
  for (const auto& [name, value] : environment) pairs.push_back(name + "=" + value);
  for (auto& pair : pairs) envp.push_back(pair.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!interactive)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  Child child{.out = ends[0]};
  const int error =
      posix_spawn(&child.pid, program.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return failed(ErrorCode::Unauthorized,
                  fmt::format("cannot start {}: {}", program, std::strerror(error)));
  }
  return child;
}

struct Outcome {
  std::string output = {};
  int status = 0;
  bool killed = false;
};

// Reads while the child runs, and what is left when it has ended: a grandchild that keeps the pipe
// open is not waited for.
Task<Outcome> collect(AsioLoop& loop, Child child, Duration limit) {
  Outcome outcome;
  auto out = std::make_shared<asio::posix::stream_descriptor>(loop.context(), child.out);
  error_code ignored;
  out->non_blocking(true, ignored);
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0));
  MANTA_CHECK(pidfd >= 0);
  auto process = std::make_shared<asio::posix::stream_descriptor>(loop.context(), pidfd);

  const auto drain = [&outcome, out] {
    char buffer[4096];
    for (;;) {
      const auto size = ::read(out->native_handle(), buffer, sizeof buffer);
      if (size > 0 && outcome.output.size() <= kMaxOutput)
        outcome.output.append(buffer, static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) return size < 0 && errno == EAGAIN;
    }
  };
  OneShot<bool> ended(loop);
  auto watch_output = std::make_shared<std::function<void()>>();
  *watch_output = [out, drain, ended, weak = std::weak_ptr(watch_output)] {
    out->async_wait(asio::posix::stream_descriptor::wait_read,
                    [drain, ended, weak](const error_code& ec) {
                      const auto again = weak.lock();
                      if (!ec && again && !ended.is_set() && drain()) (*again)();
                    });
  };
  (*watch_output)();
  process->async_wait(asio::posix::stream_descriptor::wait_read,
                      [ended](const error_code&) { ended.set(true); });
  const auto timer = loop.after(limit, [&outcome, pid = child.pid] {
    outcome.killed = true;
    kill(pid, SIGKILL);
  });
  co_await ended;
  loop.cancel(timer);
  drain();
  watch_output.reset();
  out->close(ignored);
  waitpid(child.pid, &outcome.status, 0);
  co_return outcome;
}

Result<ExecCredential> parse_credential(std::string_view output, const std::string& api_version) {
  const auto bad = [](std::string message) {
    return failed(ErrorCode::Unauthorized, std::move(message));
  };
  // The output itself is never quoted: it is a secret.
  const auto document = parse_json(output);
  if (!document) return bad("it did not print an ExecCredential in JSON");
  if (string_at(*document, {"kind"}) != "ExecCredential" ||
      string_at(*document, {"apiVersion"}) != api_version)
    return bad(fmt::format("it printed {} {} but must print ExecCredential {}",
                           string_at(*document, {"kind"}), string_at(*document, {"apiVersion"}),
                           api_version));
  ExecCredential credential{
      .token = std::string(string_at(*document, {"status", "token"})),
      .client_cert_pem = std::string(string_at(*document, {"status", "clientCertificateData"})),
      .client_key_pem = std::string(string_at(*document, {"status", "clientKeyData"}))};
  if (credential.token.empty() && credential.client_cert_pem.empty())
    return bad("it printed neither status.token nor status.clientCertificateData");
  if (credential.client_cert_pem.empty() != credential.client_key_pem.empty())
    return bad("it printed only one of clientCertificateData and clientKeyData");
  if (const auto expires = string_at(*document, {"status", "expirationTimestamp"});
      !expires.empty()) {
    const auto time = parse_rfc3339(expires);
    if (!time) return bad("status.expirationTimestamp: " + time.error().message);
    credential.expires = *time;
  }
  return credential;
}

Task<Result<ExecCredential>> run(AsioLoop& loop, ExecPlugin plugin, StringMap environment,
                                 Duration limit) {
  const bool terminal = isatty(STDIN_FILENO) == 1;
  const bool interactive = plugin.interactiveMode != "Never" && terminal;
  if (plugin.interactiveMode == "Always" && !terminal)
    co_return failed(ErrorCode::Unauthorized,
                     "it needs a terminal (interactiveMode: Always) and there is none");
  for (const auto& [name, value] : plugin.env) environment[name] = value;
  JsonObject spec{{"interactive", interactive}};
  if (!plugin.cluster.is_null()) spec["cluster"] = plugin.cluster;
  environment["KUBERNETES_EXEC_INFO"] = dump_json(JsonObject{
      {"kind", "ExecCredential"}, {"apiVersion", plugin.apiVersion}, {"spec", std::move(spec)}});

  const auto program = find_program(plugin.command, environment);
  if (program.empty())
    co_return failed(ErrorCode::Unauthorized,
                     "there is no such program" +
                         (plugin.installHint.empty() ? "" : "\n\n" + plugin.installHint));
  std::vector<std::string> arguments = {plugin.command};
  arguments.insert(arguments.end(), plugin.args.begin(), plugin.args.end());
  auto child = spawn(program, arguments, environment, interactive);
  if (!child) co_return failed(std::move(child.error()));
  const auto outcome = co_await collect(loop, *child, limit);
  if (outcome.killed)
    co_return failed(ErrorCode::Unauthorized,
                     fmt::format("it did not end within {}", format_go_duration(limit)));
  if (WIFSIGNALED(outcome.status))
    co_return failed(ErrorCode::Unauthorized,
                     fmt::format("it was ended by signal {}", WTERMSIG(outcome.status)));
  if (WEXITSTATUS(outcome.status) != 0)
    co_return failed(ErrorCode::Unauthorized,
                     fmt::format("it failed with exit code {}", WEXITSTATUS(outcome.status)));
  if (outcome.output.size() > kMaxOutput)
    co_return failed(ErrorCode::TooLarge, "it printed more than 1 MiB");
  co_return parse_credential(outcome.output, plugin.apiVersion);
}

}  // namespace

Task<Result<ExecCredential>> run_exec_plugin(AsioLoop& loop, ExecPlugin plugin,
                                             StringMap environment, Duration limit) {
  const auto what = fmt::format("credential plugin {}", plugin.command);
  auto credential = co_await run(loop, std::move(plugin), std::move(environment), limit);
  if (!credential) co_return failed(credential.error().in(what));
  co_return credential;
}

}  // namespace manta::kube
