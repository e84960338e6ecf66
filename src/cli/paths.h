// Where `manta` keeps what it knows: one data directory for each single-machine Kubernetes.
#pragma once

#include "base/result.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace manta::cli {

using Environment = std::function<std::optional<std::string>(std::string_view)>;
/// The process's own.
std::optional<std::string> process_environment(std::string_view name);

struct Paths {
  std::filesystem::path home = {};

  std::filesystem::path kubeconfig() const { return home / "kubeconfig"; }
  std::filesystem::path log() const { return home / "manta.log"; }
  /// What the running daemon says of itself; stale when nobody holds the lock.
  std::filesystem::path state() const { return home / "daemon.json"; }
  /// Held by the daemon as long as it lives; the kernel lets go of it.
  std::filesystem::path lock() const { return home / "daemon.lock"; }
  /// Held by each `manta run`, see run_ticket.h.
  std::filesystem::path runs() const { return home / "runs.lock"; }
  std::filesystem::path store() const { return home / "state.db"; }
  std::filesystem::path pki() const { return home / "pki"; }
  std::filesystem::path node() const { return home / "node"; }
  std::filesystem::path images = {};  // may be shared by several homes
  /// How to call `manta` so that it finds this place: with --data-dir unless it does so by itself.
  std::string command = "manta";
};

/// The flag, else MANTA_HOME, else $XDG_DATA_HOME/manta, else ~/.local/share/manta. Images stand
/// below it unless MANTA_IMAGES names another folder. Fails when none of these is set.
Result<Paths> find_paths(const std::string& flag, const Environment& environment);

/// Makes the home with mode 0700. Fails with what is in the way and what to do.
Result<void> make_home(const Paths& paths);

}  // namespace manta::cli
