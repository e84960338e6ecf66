#include "local/node/cgroups.h"

#include "local/node/files.h"

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
#include <map>
#include <sstream>

namespace manta::local {

namespace fs = std::filesystem;

CgroupValues compute_cgroup_values(const Resources& r) {
  CgroupValues v;
  if (r.cpu_request_milli)
    v.cpu_shares = std::clamp<std::int64_t>(*r.cpu_request_milli * 1024 / 1000, 2, 262'144);
  v.cpu_weight = 1 + (v.cpu_shares - 2) * 9999 / 262'142;
  if (r.cpu_limit_milli && *r.cpu_limit_milli > 0)
    v.cpu_quota_us = std::max<std::int64_t>(*r.cpu_limit_milli * v.cpu_period_us / 1000, 1000);
  if (r.memory_limit && *r.memory_limit > 0) v.memory_bytes = *r.memory_limit;
  return v;
}

std::vector<std::string> Cgroup::procs_files() const {
  std::vector<std::string> files;
  for (const auto& folder : folders) files.push_back(folder + "/cgroup.procs");
  return files;
}

namespace {

bool put(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return done;
}

std::string slurp(const std::string& path) { return read_file(path).value_or(""); }

std::vector<std::string> words(const std::string& text, char separator = ' ') {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) {
    while (!word.empty() && word.back() == '\n') word.pop_back();
    if (!word.empty()) out.push_back(word);
  }
  return out;
}

constexpr const char* kWanted[] = {"cpu", "memory", "pids"};
/// Version 1 counts CPU time in a hierarchy of its own; programs (Ray's dashboard) read it there.
constexpr const char* kMeter = "cpuacct";

/// Mount points of version 1 by controller, and of version 2 under "".
std::map<std::string, std::string> find_mounts() {
  std::map<std::string, std::string> mounts;
  std::ifstream in("/proc/self/mounts");
  for (std::string line; std::getline(in, line);) {
    const auto parts = words(line);
    if (parts.size() < 4) continue;
    if (parts[2] == "cgroup2") mounts.try_emplace("", parts[1]);
    if (parts[2] != "cgroup") continue;
    for (const auto& option : words(parts[3], ','))
      if (option == kMeter || std::ranges::find(kWanted, option) != std::end(kWanted))
        mounts.try_emplace(option, parts[1]);
  }
  return mounts;
}

/// Our own group in each hierarchy: by controller; version 2 under "".
std::map<std::string, std::string> own_groups() {
  std::map<std::string, std::string> groups;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto names = line.substr(first + 1, second - first - 1);
    const auto path = line.substr(second + 1);
    if (names.empty()) groups[""] = path;
    for (const auto& name : words(names, ',')) groups[name] = path;
  }
  return groups;
}

bool make_folder(const std::string& path) {
  return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

std::string join(const std::string& mount, const std::string& group) {
  return group == "/" ? mount : mount + group;
}

/// Lets children of a version 2 group use what we want of its controllers.
void delegate(const std::string& folder) {
  for (const char* name : kWanted) put(folder + "/cgroup.subtree_control", std::string("+") + name);
}

}  // namespace

Cgroups Cgroups::detect(const std::string& id) {
  Cgroups found;
  const auto mounts = find_mounts();
  const auto own = own_groups();
  std::string last_error = "no cgroup file system is mounted";
  // Version 1, beside or instead of version 2: a controller lives in one of the two.
  for (const char* name : {kWanted[0], kWanted[1], kWanted[2], kMeter}) {
    const auto mount = mounts.find(name);
    if (mount == mounts.end()) continue;
    const auto group = own.find(name);
    std::string parent = join(mount->second, group == own.end() ? "/" : group->second);
    if (!fs::exists(parent)) parent = mount->second;  // a cgroup namespace shows another path
    const auto root = parent + "/manta-" + id;
    if (!make_folder(root)) {
      last_error = fmt::format("cannot make {}: {}", root, strerror(errno));
      continue;
    }
    auto same = std::ranges::find(found.hierarchies_, root, &Hierarchy::root);
    if (same == found.hierarchies_.end())
      found.hierarchies_.push_back({root, {name}});
    else
      same->controllers.emplace_back(name);
    found.version_ = 1;
  }
  // Version 2: the highest group of ours that we may divide. Controllers cannot be passed down from
  // a group that holds processes, except from the very top.
  if (const auto mount = mounts.find(""); found.version_ == 0 && mount != mounts.end()) {
    std::vector<std::string> candidates = {mount->second};
    const auto group = own.find("");
    for (std::size_t slash = 1; group != own.end() && slash != std::string::npos;) {
      slash = group->second.find('/', slash);
      candidates.push_back(join(mount->second, group->second.substr(0, slash)));
      if (slash != std::string::npos) ++slash;
    }
    for (const auto& parent : candidates) {
      const auto root = parent + "/manta-" + id;
      if (!make_folder(root)) {
        last_error = fmt::format("cannot make {}: {}", root, strerror(errno));
        continue;
      }
      delegate(parent);
      const auto has = words(slurp(root + "/cgroup.controllers"));
      if (std::ranges::find(has, "memory") == has.end() &&
          std::ranges::find(has, "cpu") == has.end()) {
        last_error = fmt::format("{} passes neither cpu nor memory on", parent);
        rmdir(root.c_str());
        continue;
      }
      delegate(root);
      found.version_ = 2;
      found.hierarchies_.push_back({root, has});
      break;
    }
  }
  if (found.version_ == 0) {
    found.problem_ = last_error;
  } else {
    for (const char* name : kWanted)
      if (!found.has(name))
        found.problem_ +=
            (found.problem_.empty() ? "no cgroup controller " : ", ") + std::string(name);
  }
  return found;
}

bool Cgroups::has(std::string_view controller) const {
  return std::ranges::any_of(hierarchies_, [&](auto& h) {
    return std::ranges::find(h.controllers, controller) != h.controllers.end();
  });
}

std::vector<std::string> Cgroups::roots() const {
  std::vector<std::string> all;
  for (const auto& h : hierarchies_) all.push_back(h.root);
  return all;
}

Result<Cgroup> Cgroups::create(const std::string& pod_uid, const std::string& name,
                               const Resources& resources, bool advise_memory) {
  const auto values = compute_cgroup_values(resources);
  Cgroup cgroup;
  for (const auto& h : hierarchies_) {
    const auto pod = h.root + "/" + pod_uid;
    const auto folder = pod + "/" + name;
    const bool made = make_folder(pod);
    if (made && version_ == 2) delegate(pod);
    if (!made || !make_folder(folder))
      return failed(ErrorCode::Internal,
                    fmt::format("making cgroup {}: {}", folder, strerror(errno)));
    cgroup.folders.push_back(folder);
    auto limit = [&](const std::string& file, const std::string& value) -> Result<void> {
      if (put(folder + "/" + file, value)) return {};
      return failed(ErrorCode::Internal,
                    fmt::format("writing {} to {}/{}: {}", value, folder, file, strerror(errno)));
    };
    for (const auto& controller : h.controllers) {
      Result<void> done = {};
      if (controller == "cpu" && version_ == 1) {
        put(folder + "/cpu.shares", std::to_string(values.cpu_shares));
        if (values.cpu_quota_us > 0)
          done = limit("cpu.cfs_quota_us", std::to_string(values.cpu_quota_us));
      } else if (controller == "cpu") {
        put(folder + "/cpu.weight", std::to_string(values.cpu_weight));
        if (values.cpu_quota_us > 0)
          done = limit("cpu.max", fmt::format("{} {}", values.cpu_quota_us, values.cpu_period_us));
      } else if (controller == "memory" && values.memory_bytes > 0 && !advise_memory) {
        done = limit(version_ == 1 ? "memory.limit_in_bytes" : "memory.max",
                     std::to_string(values.memory_bytes));
        // No swap: a limit is a limit. Absent where swap accounting is off.
        put(folder + (version_ == 1 ? "/memory.memsw.limit_in_bytes" : "/memory.swap.max"),
            version_ == 1 ? std::to_string(values.memory_bytes) : "0");
        if (version_ == 2)
          put(folder + "/memory.oom.group", "1");  // the container dies whole, as in Kubernetes
      }
      if (!done) return failed(done.error());
    }
  }
  return cgroup;
}

std::int64_t Cgroups::oom_kills(const Cgroup& cgroup) {
  for (const auto& folder : cgroup.folders)
    for (const char* file : {"/memory.oom_control", "/memory.events"}) {
      std::istringstream in(slurp(folder + file));
      for (std::string key, value; in >> key >> value;)
        if (key == "oom_kill") return std::atoll(value.c_str());
    }
  return 0;
}

static void remove_folder(const std::string& folder) {
  if (rmdir(folder.c_str()) == 0 || errno == ENOENT) return;
  std::error_code error;
  for (const auto& name : list_folder(folder))
    if (fs::is_directory(folder + "/" + name, error)) remove_folder(folder + "/" + name);
  rmdir(folder.c_str());  // a group whose last process is still going stays for the clean-up
}

void Cgroups::remove(const Cgroup& cgroup) const {
  for (const auto& folder : cgroup.folders) remove_folder(folder);
}

void Cgroups::remove_pod(const std::string& pod_uid) const {
  for (const auto& h : hierarchies_) remove_folder(h.root + "/" + pod_uid);
}

std::vector<std::string> Cgroups::views(const Cgroup& cgroup) const {
  std::vector<std::string> views;
  for (std::size_t i = 0; i < cgroup.folders.size(); ++i) {
    if (version_ == 2) return {"=" + cgroup.folders[i]};
    for (const auto& controller : hierarchies_[i].controllers)
      views.push_back(controller + "=" + cgroup.folders[i]);
  }
  return views;
}

static void kill_group(const std::string& folder) {
  std::error_code error;
  for (const auto& name : list_folder(folder))
    if (fs::is_directory(folder + "/" + name, error)) kill_group(folder + "/" + name);
  std::istringstream in(slurp(folder + "/cgroup.procs"));
  for (pid_t pid = 0; in >> pid;)
    if (pid > 1 && pid != getpid()) kill(pid, SIGKILL);
}

void Cgroups::kill_all(const Cgroup& cgroup) {
  for (const auto& folder : cgroup.folders) kill_group(folder);
}

void Cgroups::destroy(const std::vector<std::string>& roots) {
  for (const auto& root : roots) {
    // Only ever a group of ours, whatever a damaged record says.
    if (fs::path(root).filename().string().starts_with("manta-") && fs::exists(root)) {
      kill_group(root);
      remove_folder(root);
    }
  }
}

}  // namespace manta::local
