#include "cli/paths.h"

#include "base/shell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace manta::cli {
namespace fs = std::filesystem;

std::optional<std::string> process_environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

namespace {

/// Without the flag; empty when nothing says where.
fs::path usual_home(const Environment& environment) {
  if (const auto own = environment("MANTA_HOME")) return *own;
  if (const auto xdg = environment("XDG_DATA_HOME")) return fs::path(*xdg) / "manta";
  if (const auto user = environment("HOME")) return fs::path(*user) / ".local" / "share" / "manta";
  return {};
}

fs::path whole(const fs::path& path) {
  std::error_code code;
  return fs::absolute(path, code).lexically_normal();
}

}  // namespace

Result<Paths> find_paths(const std::string& flag, const Environment& environment) {
  const auto usual = usual_home(environment);
  if (flag.empty() && usual.empty())
    return failed(ErrorCode::NotFound,
                  "no place for data: set MANTA_HOME or HOME, or pass --data-dir");
  Paths paths{.home = whole(flag.empty() ? usual : fs::path(flag))};
  const auto images = environment("MANTA_IMAGES");
  paths.images = images ? whole(*images) : paths.home / "images";
  if (usual.empty() || whole(usual) != paths.home)
    paths.command += " --data-dir " + shell_quote(paths.home.string());
  return paths;
}

Result<void> make_home(const Paths& paths) {
  std::error_code code;
  const bool existed = fs::is_directory(paths.home, code);
  fs::create_directories(paths.home, code);
  if (code)
    return failed(ErrorCode::Forbidden,
                  fmt::format("cannot make the data directory {}: {}; choose another one with "
                              "--data-dir or MANTA_HOME",
                              paths.home.string(), code.message()));
  if (!existed) fs::permissions(paths.home, fs::perms::owner_all, code);
  if (::access(paths.home.c_str(), R_OK | W_OK | X_OK) != 0)
    return failed(ErrorCode::Forbidden,
                  fmt::format("cannot use the data directory {}: {}; choose another one with "
                              "--data-dir or MANTA_HOME",
                              paths.home.string(), std::strerror(errno)));
  return {};
}

}  // namespace manta::cli
