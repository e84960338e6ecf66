#include "local/node/leftovers.h"

#include "base/log.h"
#include "local/node/cgroups.h"
#include "local/node/files.h"
#include "local/node/helper_process.h"
#include "local/node/helper_spec.h"
#include "local/node/host_setup.h"
#include "local/node/network.h"
#include "local/node/outbound.h"
#include "local/node/services.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace manta::local {

namespace fs = std::filesystem;

Result<std::string> state_marker(const std::string& state_folder, Random& random) {
  std::error_code error;
  fs::create_directories(state_folder, error);
  if (error)
    return failed(ErrorCode::Internal,
                  fmt::format("making the state folder {}: {}", state_folder, error.message()));
  chmod(state_folder.c_str(),
        0700);  // Secrets lie below; containers get what they may see by mounts
  const auto path = state_folder + "/marker";
  std::string marker;
  std::ifstream(path) >> marker;
  if (marker.size() == 8 &&
      std::ranges::all_of(marker, [](unsigned char c) { return std::isxdigit(c); }))
    return marker;
  marker = fmt::format("{:08x}", static_cast<std::uint32_t>(random.next()));
  std::ofstream out(path);
  out << marker << "\n";
  if (!out.flush()) return failed(ErrorCode::Internal, fmt::format("writing {}", path));
  return marker;
}

void record_cgroups(const std::string& state_folder, const std::vector<std::string>& roots) {
  std::ofstream out(state_folder + "/cgroups");
  for (const auto& root : roots) out << root << "\n";
}

/// Helpers of this marker die with their node; one that is just being killed may still be seen.
static std::vector<pid_t> find_helpers(const std::string& marker) {
  std::vector<pid_t> found;
  const auto argument = std::string(kHelperArgument) + '\0' + marker + '\0';
  for (const auto& name : list_folder("/proc")) {
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c); })) continue;
    const auto line = read_file("/proc/" + name + "/cmdline").value_or("");
    if (line.find(argument) != std::string::npos)
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

static std::vector<std::string> recorded_cgroups(const std::string& state_folder) {
  std::vector<std::string> roots;
  std::ifstream in(state_folder + "/cgroups");
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) roots.push_back(line);
  return roots;
}

std::vector<std::string> find_leftovers(const NodeOptions& options, const std::string& marker) {
  std::vector<std::string> found;
  if (!find_helpers(marker).empty()) found.emplace_back("processes of Pods");
  std::error_code ignored;
  if (std::ranges::any_of(recorded_cgroups(options.state_folder),
                          [&](const auto& root) { return fs::exists(root, ignored); }))
    found.emplace_back("cgroups");
  if (PodNetwork::has_devices(marker)) found.emplace_back("the Pods' network");
  const auto names = read_file(options.host_names_file).value_or("");
  if (options.write_host_names && replace_hosts_block(names, marker, {}) != names)
    found.push_back("host names in " + options.host_names_file);
  return found;
}

void remove_leftovers(const NodeOptions& options, const std::string& marker) {
  for (const auto pid : find_helpers(marker)) kill(pid, SIGKILL);
  Cgroups::destroy(recorded_cgroups(options.state_folder));
  if (!needs_rootless()) {
    close_outbound(marker);
    forbid_bridge_traffic(PodNetwork::bridge_name(marker));
  }
  if (auto cleaned = PodNetwork::clean_up(marker);
      !cleaned && cleaned.error().code != ErrorCode::Forbidden)
    log::warn("network devices of an earlier life stay", {{"error", cleaned.error().message}});
  if (auto removed = write_host_names(options, marker, {}); !removed)
    log::warn("host names of an earlier life stay", {{"error", removed.error().message}});
}

Result<void> write_host_names(const NodeOptions& options, const std::string& marker,
                              const std::vector<HostsEntry>& entries) {
  if (!options.write_host_names) return {};
  const auto& path = options.host_names_file;
  const auto text = read_file(path);
  if (!text)
    return failed(ErrorCode::Internal, fmt::format("reading {}: {}", path, strerror(errno)));
  const auto wanted = replace_hosts_block(*text, marker, entries);
  if (wanted == *text) return {};
  // In place: the file may be a mount, and its owner and mode are not ours to change.
  const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file ||
      pwrite(file.get(), wanted.data(), wanted.size(), 0) != static_cast<ssize_t>(wanted.size()) ||
      ftruncate(file.get(), static_cast<off_t>(wanted.size())) != 0)
    return failed(ErrorCode::Internal, fmt::format("writing {}: {}", path, strerror(errno)));
  return {};
}

std::vector<std::string> abandoned_pod_files(const std::string& state_folder,
                                             const std::set<std::string>& uids) {
  std::vector<std::string> paths;
  for (const auto& uid : list_folder(state_folder + "/pods"))
    if (!uids.contains(uid)) paths.push_back(state_folder + "/pods/" + uid);
  for (const auto& name : list_folder(state_folder + "/logs"))  // NAMESPACE_POD_UID
    if (!uids.contains(name.substr(name.rfind('_') + 1)))
      paths.push_back(state_folder + "/logs/" + name);
  return paths;
}

}  // namespace manta::local
