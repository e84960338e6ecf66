#include "cli/instance.h"

#include "base/json.h"
#include "local/images/image_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace manta::cli {

Result<void> write_state(const Paths& paths, const DaemonState& state) {
  const JsonObject json{{"pid", state.pid},
                        {"port", std::int64_t(state.port)},
                        {"server", state.server},
                        {"started", state.started},
                        {"version", state.version},
                        {"controlPlaneOnly", state.control_plane_only},
                        {"outbound", state.outbound},
                        {"forRuns", state.for_runs},
                        {"operator", state.with_operator},
                        {"featureGates", state.feature_gates}};
  // For scripts, which like a file with a number in it; nothing of ours reads it.
  if (auto ok = local::write_file_whole(paths.home / "manta.pid", std::to_string(state.pid) + "\n");
      !ok)
    return ok;
  return local::write_file_whole(paths.state(), pretty_json(json) + "\n");
}

std::optional<DaemonState> read_state(const Paths& paths) {
  const auto text = local::read_file(paths.state());
  if (!text) return std::nullopt;
  const auto json = parse_json(*text);
  if (!json || int_at(*json, {"pid"}) <= 0) return std::nullopt;
  return DaemonState{.pid = int_at(*json, {"pid"}),
                     .port = std::uint16_t(int_at(*json, {"port"})),
                     .server = std::string(string_at(*json, {"server"})),
                     .started = std::string(string_at(*json, {"started"})),
                     .version = std::string(string_at(*json, {"version"})),
                     .control_plane_only = bool_at(*json, {"controlPlaneOnly"}),
                     .outbound = bool_at(*json, {"outbound"}, true),
                     .with_operator = bool_at(*json, {"operator"}, true),
                     .feature_gates = std::string(string_at(*json, {"featureGates"})),
                     .for_runs = bool_at(*json, {"forRuns"})};
}

Result<void> take_lock(const Paths& paths) {
  // Never closed: the lock lasts as long as the process. Helpers do not inherit it.
  const int fd = ::open(paths.lock().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0)
    return failed(ErrorCode::Forbidden,
                  fmt::format("cannot open {}: {}", paths.lock().string(), std::strerror(errno)));
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
  ::close(fd);
  return failed(ErrorCode::AlreadyExists,
                fmt::format("manta is already running on {}", paths.home.string()));
}

bool is_locked(const Paths& paths) {
  const int fd = ::open(paths.lock().c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool locked = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return locked;
}

std::optional<DaemonState> running_daemon(const Paths& paths) {
  if (!is_locked(paths)) return std::nullopt;
  return read_state(paths);
}

}  // namespace manta::cli
