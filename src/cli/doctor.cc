// `manta doctor`: can this machine run Pods, and what is missing if not.
#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/instance.h"
#include "local/images/image_index.h"
#include "local/node/host_setup.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace manta::cli {
namespace fs = std::filesystem;
namespace {

enum class Verdict { Fine, Advice, Missing };
struct Finding {
  Verdict verdict = Verdict::Fine;
  std::string what = {};
  std::string text = {};
};

std::vector<Finding> check_host(const Paths& paths) {
  std::vector<Finding> findings;
  for (const auto& line : local::check_machine(paths.node().string()).lines) {
    const auto verdict = line.level == local::MachineReport::Level::Fine   ? Verdict::Fine
                         : line.level == local::MachineReport::Level::Note ? Verdict::Advice
                                                                           : Verdict::Missing;
    findings.push_back({verdict, line.what, line.detail});
  }
  return findings;
}

Finding check_port(const Paths& paths) {
  if (const auto running = running_daemon(paths))
    return {Verdict::Fine, "port", fmt::format("manta is running on {}", running->server)};
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kUsualPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  if (free) return {Verdict::Fine, "port", fmt::format("{} is free", kUsualPort)};
  return {Verdict::Advice, "port",
          fmt::format("{} is taken; manta up chooses another one", kUsualPort)};
}

Finding check_disk(const Paths& paths) {
  auto folder = paths.home;
  std::error_code code;
  while (!fs::exists(folder, code) && folder.has_parent_path() && folder != folder.parent_path())
    folder = folder.parent_path();
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) != 0)
    return {Verdict::Missing, "disk", fmt::format("{}: {}", folder.string(), std::strerror(errno))};
  const auto free_mib = std::uint64_t(info.f_bavail) * info.f_frsize >> 20;
  auto text = fmt::format("{} MiB free for {}", free_mib, paths.home.string());
  if (::access(folder.c_str(), W_OK) != 0)
    return {Verdict::Missing, "disk", fmt::format("{} is not writable", folder.string())};
  if (free_mib < 500) return {Verdict::Missing, "disk", text + "; one Ray needs about 400 MB"};
  return {free_mib < 2000 ? Verdict::Advice : Verdict::Fine, "disk", std::move(text)};
}

bool on_path(const std::string& program) {
  const auto path = process_environment("PATH").value_or("/usr/bin:/bin");
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find(':', at), path.size());
    if (::access((path.substr(at, end - at) + "/" + program).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

Finding check_python() {
  if (on_path("uv")) return {Verdict::Fine, "python", "uv is here"};
  if (on_path("python3")) return {Verdict::Fine, "python", "python3 is here (uv would be quicker)"};
  return {Verdict::Missing, "python", "neither uv nor python3: apt install python3 python3-venv"};
}

Finding check_ray(const Paths& paths) {
  const auto image = local::ImageIndex(paths.images, paths.command).default_image();
  if (!image)
    return {Verdict::Advice, "ray",
            "none prepared yet: " + paths.command + " image pull --default"};
  return {Verdict::Fine, "ray",
          fmt::format("{} on Python {} ({})", image->ray, image->python, image->path)};
}

Finding check_kubectl() {
  if (on_path("kubectl")) return {Verdict::Fine, "kubectl", "is here"};
  return {Verdict::Advice, "kubectl", "not on the PATH; `manta run` does without"};
}

}  // namespace

int command_doctor(const Paths& paths) {
  auto findings = check_host(paths);
  for (const auto& finding :
       {check_disk(paths), check_port(paths), check_python(), check_ray(paths), check_kubectl()})
    findings.push_back(finding);
  bool missing = false;
  for (const auto& finding : findings) {
    const auto* mark = finding.verdict == Verdict::Fine     ? "ok     "
                       : finding.verdict == Verdict::Advice ? "note   "
                                                            : "MISSING";
    fmt::print("{} {:<11} {}\n", mark, finding.what, finding.text);
    missing = missing || finding.verdict == Verdict::Missing;
  }
  return missing ? 1 : 0;
}

}  // namespace manta::cli
