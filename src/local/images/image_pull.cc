#include "local/images/image_pull.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

namespace manta::local {
namespace fs = std::filesystem;
namespace {

using Command = std::vector<std::string>;

/// Held while environments are made; the kernel lets go of it when we die.
class FolderLock {
 public:
  static Result<FolderLock> take(const fs::path& folder, const PullOptions& options) {
    std::error_code code;
    fs::create_directories(folder, code);
    const auto path = folder / ".lock";
    FolderLock lock(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
    if (lock.fd_ < 0)
      return failed(ErrorCode::Forbidden,
                    fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (options.say) options.say("another manta is preparing an image, waiting for it");
      while (::flock(lock.fd_, LOCK_EX) != 0)
        if (errno != EINTR)
          return failed(ErrorCode::Internal,
                        fmt::format("cannot lock {}: {}", path.string(), std::strerror(errno)));
    }
    return lock;
  }
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const auto full = fs::path(folder) / name; ::access(full.c_str(), X_OK) == 0)
      return full.string();
  return {};
}

struct Outcome {
  int status = -1;
  std::string output = {};  // the last few KiB
};

/// Runs to its end. Output is shown as it comes (unless quiet) and its tail kept for error
/// messages.
Outcome run(const Command& command, bool show) {
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return {.output = std::strerror(errno)};
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const auto child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[1], 1);
    ::dup2(pipe_ends[1], 2);
    ::execvp(arguments[0], arguments.data());
    ::dprintf(2, "%s: %s\n", arguments[0], std::strerror(errno));
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  Outcome outcome;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto got = ::read(pipe_ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (show && ::write(2, buffer.data(), std::size_t(got)) < 0) show = false;
    outcome.output.append(buffer.data(), std::size_t(got));
    if (outcome.output.size() > 8192) outcome.output.erase(0, outcome.output.size() - 4096);
  }
  ::close(pipe_ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

constexpr std::string_view kTagForm =
    "VERSION[-pyXY][-cpu], as in rayproject/ray:2.60.0-py311, or latest";

std::string where_to_look() {
  return fmt::format(
      "https://pypi.org/project/ray/#history lists the releases and their Pythons, "
      "manta image ls what is prepared; Manta comes with {}",
      kDefaultRay);
}

Error tool_error(const std::string& what, const Outcome& outcome) {
  auto tail = outcome.output;
  tail.erase(tail.find_last_not_of(" \n") + 1);
  return {.code = ErrorCode::Internal,
          .message = fmt::format("{} failed (exit code {}): {}", what, outcome.status, tail)};
}

/// "3.11" of a Python program; empty when it does not run.
std::string python_version(const std::string& program) {
  auto outcome = run({program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"}, false);
  if (outcome.status != 0) return {};
  outcome.output.erase(outcome.output.find_last_not_of(" \n") + 1);
  return outcome.output;
}

struct Python {
  std::string program = {};  // or a version that uv fetches
  std::string version = {};
};

Result<Python> choose_python(const std::string& wanted, const std::string& uv) {
  std::vector<std::string> candidates;
  if (!wanted.empty()) candidates = {"/usr/bin/python" + wanted, "python" + wanted};
  candidates.insert(candidates.end(), {"/usr/bin/python3", "python3"});
  for (const auto& candidate : candidates) {
    const auto program = candidate.front() == '/' ? candidate : find_program(candidate);
    if (program.empty() || ::access(program.c_str(), X_OK) != 0) continue;
    const auto version = python_version(program);
    if (!version.empty() && (wanted.empty() || version == wanted)) return Python{program, version};
  }
  if (!uv.empty() && !wanted.empty()) return Python{wanted, wanted};
  if (wanted.empty())
    return failed(ErrorCode::NotFound,
                  "no python3 on this machine; install it (apt install python3 "
                  "python3-venv) or uv");
  return failed(
      ErrorCode::NotFound,
      fmt::format("Python {0} is not on this machine; install python{0} or uv, or name an "
                  "image without -py{1}",
                  wanted, wanted.substr(0, 1) + wanted.substr(2)));
}

Result<void> make_environment(const fs::path& folder, const Python& python, const std::string& uv) {
  const auto outcome =
      uv.empty()
          ? run({python.program, "-m", "venv", folder.string()}, false)
          : run({uv, "venv", "-q", "--seed", "--python", python.program, folder.string()}, false);
  if (outcome.status == 0) return {};
  auto error = tool_error("making a Python environment", outcome);
  if (uv.empty() && outcome.output.contains("ensurepip"))
    error.message += "; install python" + python.version + "-venv, or uv";
  return failed(std::move(error));
}

Result<void> install_ray(const fs::path& folder, const std::string& version, const std::string& uv,
                         const PullOptions& options) {
  const auto python = (folder / "bin" / "python").string();
  const auto package = "ray[default,serve]==" + version;
  Command command = uv.empty()
                        ? Command{python, "-m", "pip", "install", "--disable-pip-version-check"}
                        : Command{uv, "pip", "install", "--python", python};
  if (options.quiet) command.emplace_back("-q");
  command.push_back(package);
  const auto outcome = run(command, !options.quiet);
  if (outcome.status == 0) return {};
  if (auto why = no_such_ray(version, python_version(python), outcome.output))
    return failed(ErrorCode::NotFound, std::move(*why));
  return failed(tool_error("installing " + package, outcome));
}

std::optional<PreparedImage> find_prepared(const ImageIndex& index, const std::string& version,
                                           const std::string& python) {
  for (auto& image : index.list())
    if (image.pulled && image.ray == version && (python.empty() || image.python == python))
      return std::move(image);
  return std::nullopt;
}

Result<PreparedImage> build(const ImageIndex& index, const RayImage& wanted,
                            const PullOptions& options) {
  const auto uv = find_program("uv");
  const auto python = choose_python(wanted.python, uv);
  if (!python) return failed(python.error());
  const auto folder = index.env_folder(wanted.version, python->version);
  std::error_code code;
  // Without its entry it is what a killed pull left behind. Environments hold their own path, so
  // they are built in place: the entry, written last, is what makes them an image.
  fs::remove_all(folder, code);
  fs::create_directories(folder.parent_path(), code);
  if (options.say)
    options.say(fmt::format("preparing Ray {} on Python {} in {} (about 400 MB)", wanted.version,
                            python->version, folder.string()));
  auto done = make_environment(folder, *python, uv);
  if (done) done = install_ray(folder, wanted.version, uv, options);
  if (!done) {
    fs::remove_all(folder, code);
    return failed(done.error());
  }
  auto image = inspect_venv(folder);
  if (!image) return image;
  if (image->ray != wanted.version)
    return failed(ErrorCode::Internal, fmt::format("the installer made Ray \"{}\" instead of {}",
                                                   image->ray, wanted.version));
  image->name = ray_image_name(wanted.version, wanted.python);
  image->pulled = true;
  if (auto put = index.put(*image); !put) return failed(put.error());
  return image;
}

}  // namespace

std::optional<std::string> no_such_ray(std::string_view version, std::string_view python,
                                       std::string_view output) {
  if (output.contains("no wheels with a matching Python"))
    return fmt::format(
        "Ray {0} has no package for Python {1}; name another Python in the tag, as "
        "rayproject/ray:{0}-py310; {2}",
        version, python, where_to_look());
  if (output.contains("there is no version of ray") ||
      output.contains("No matching distribution found for ray"))
    return fmt::format("there is no Ray {} (for Python {}) in the package index; {}; a tag is {}",
                       version, python, where_to_look(), kTagForm);
  return std::nullopt;
}

Result<PreparedImage> pull_image(const ImageIndex& index, const std::string& name,
                                 const PullOptions& options) {
  auto wanted = parse_ray_image(name);
  if (!wanted)
    return failed(ErrorCode::Invalid,
                  fmt::format("cannot pull \"{0}\": only rayproject/ray images can be prepared by "
                              "themselves; for others: {1} image add {0} --root DIR | --venv DIR",
                              name, index.command()));
  if (wanted->version == "latest") wanted->version = kDefaultRay;
  if (!wanted->is_release())
    return failed(ErrorCode::Invalid,
                  fmt::format("cannot pull \"{}\": \"{}\" is no release of Ray; a tag is {}; {}",
                              name, wanted->version, kTagForm, where_to_look()));
  if (!options.again)
    if (auto ready = find_prepared(index, wanted->version, wanted->python)) return *ready;
  auto lock = FolderLock::take(index.folder(), options);
  if (!lock) return failed(lock.error());
  // Somebody else may have made it while we waited.
  if (!options.again)
    if (auto ready = find_prepared(index, wanted->version, wanted->python)) return *ready;
  return build(index, *wanted, options);
}

}  // namespace manta::local
