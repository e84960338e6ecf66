#include "base/json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/instance.h"
#include "cli/leftovers.h"
#include "local/images/image_index.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace manta::cli {
namespace {

int fail(const Error& error) {
  print_error(error.message);
  return 1;
}

void print_hints(const Paths& paths, const DaemonState& state, std::string_view what) {
  fmt::print("{} ({}, pid {})\n", what, state.server, state.pid);
  fmt::print("export KUBECONFIG={}\n", paths.kubeconfig().string());
}

/// Resident memory of a process in MiB; 0 when unknown.
std::int64_t resident_mib(std::int64_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6) / 1024;
  return 0;
}

}  // namespace

int command_up(const Paths& paths, const DaemonOptions& options) {
  if (auto home = make_home(paths); !home) return fail(home.error());
  HeldSignals held;
  const auto launched = launch_daemon(paths, options, held);
  if (!launched) {
    print_error(launched.error().message);
    return launched.error().code == ErrorCode::Cancelled ? 130 : 1;
  }
  if (!launched->ours) {
    const auto* running = &launched->state;
    if (running->control_plane_only != options.control_plane_only ||
        running->outbound != options.outbound || running->with_operator != options.with_operator ||
        running->feature_gates != options.feature_gates ||
        (options.port && *options.port != 0 && *options.port != running->port)) {
      print_error(fmt::format(
          "manta is running on {} with other options ({}{}{}{}{}); {} down first",
          paths.home.string(), running->server,
          running->control_plane_only ? ", control plane only" : "",
          running->outbound ? "" : ", no outbound", running->with_operator ? "" : ", no operator",
          running->feature_gates.empty() ? "" : ", gates " + running->feature_gates,
          paths.command));
      return 1;
    }
    if (running->for_runs) {  // asked for by name: it stays when the runs are over
      auto stays = *running;
      stays.for_runs = false;
      if (auto ok = write_state(paths, stays); !ok) return fail(ok.error());
    }
    print_hints(paths, *running, "manta is up already");
    return 0;
  }
  print_hints(paths, launched->state, "manta is up");
  if (!options.control_plane_only &&
      !local::ImageIndex(paths.images, paths.command).default_image())
    fmt::print(stderr, "no Ray is prepared on this machine yet; run: {} image pull --default\n",
               paths.command);
  return 0;
}

int command_down(const Paths& paths, bool purge) {
  const auto outcome = stop_daemon(paths);
  if (!outcome) return fail(outcome.error());
  switch (*outcome) {
    case StopOutcome::WasNotRunning:
      fmt::print("manta was not running\n");
      break;
    case StopOutcome::Stopped:
      fmt::print("manta is down\n");
      break;
    case StopOutcome::Killed:
      fmt::print("manta did not end in time and was killed\n");
      break;
  }
  const auto removed = remove_leftovers(paths);
  if (removed && !removed->empty())
    fmt::print("removed what a killed manta had left: {}\n", listed(*removed));
  if (!removed) print_error(removed.error().message);
  const int code = removed ? 0 : 1;
  if (!purge) return code;
  std::error_code ignored;
  for (const auto* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(paths.store().string() + suffix, ignored);
  remove_pod_files(paths);
  fmt::print("its objects are deleted\n");
  return code;
}

int command_status(const Paths& paths, bool as_json) {
  const auto state = running_daemon(paths);
  const auto leftovers = find_leftovers(paths);
  if (as_json) {
    JsonObject json{{"running", state.has_value()}, {"dataDir", paths.home.string()}};
    if (state) {
      json["pid"] = state->pid;
      json["server"] = state->server;
      json["started"] = state->started;
      json["version"] = state->version;
      json["controlPlaneOnly"] = state->control_plane_only;
      json["kubeconfig"] = paths.kubeconfig().string();
      json["residentMiB"] = resident_mib(state->pid);
    }
    if (!leftovers.empty()) json["leftovers"] = JsonArray(leftovers.begin(), leftovers.end());
    fmt::print("{}\n", pretty_json(json));
    return state ? 0 : 3;
  }
  if (!state) {
    fmt::print("manta is not running on {}\n", paths.home.string());
    if (!leftovers.empty())
      fmt::print("one that was killed has left {}; manta down (or up) removes it\n",
                 listed(leftovers));
    return 3;
  }
  fmt::print("manta {} is running since {}{}\n", state->version, state->started,
             state->control_plane_only ? " (control plane only)" : "");
  fmt::print("server      {}\npid         {}\nmemory      {} MiB\ndata        {}\nlog         {}\n",
             state->server, state->pid, resident_mib(state->pid), paths.home.string(),
             paths.log().string());
  fmt::print("kubeconfig  {}\n", paths.kubeconfig().string());
  return 0;
}

int command_kubeconfig(const Paths& paths, bool print_text) {
  const auto text = local::read_file(paths.kubeconfig());
  if (!text) {
    print_error(fmt::format("there is no kubeconfig yet; run: {} up", paths.command));
    return 1;
  }
  if (print_text)
    fmt::print("{}", *text);
  else
    fmt::print("{}\n", paths.kubeconfig().string());
  return 0;
}

}  // namespace manta::cli
