#include "cli/paths.h"

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

Result<Paths> find_paths(const std::string& flag, const Environment& environment) {
  fs::path home = flag;
  if (home.empty()) {
    if (const auto own = environment("MANTA_HOME"))
      home = *own;
    else if (const auto xdg = environment("XDG_DATA_HOME"))
      home = fs::path(*xdg) / "manta";
    else if (const auto user = environment("HOME"))
      home = fs::path(*user) / ".local" / "share" / "manta";
    else
      return failed(ErrorCode::NotFound,
                    "no place for data: set MANTA_HOME or HOME, or pass --data-dir");
  }
  std::error_code code;
  Paths paths{.home = fs::absolute(home, code).lexically_normal()};
  const auto images = environment("MANTA_IMAGES");
  paths.images = images ? fs::absolute(*images, code).lexically_normal() : paths.home / "images";
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
