// CPU and memory limits by control groups, version 1 or 2, wherever this process may make some.
//
// Below one root per hierarchy: manta-<id>/<pod uid>/<container>-<n>. `id` is the state folder's
// marker.
#pragma once

#include "base/result.h"
#include "local/node/pod_spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

/// The kernel's numbers for a container's resources. Source: kubelet's
/// MilliCPUToShares/MilliCPUToQuota.
struct CgroupValues {
  std::int64_t cpu_shares = 2;     // v1
  std::int64_t cpu_weight = 1;     // v2
  std::int64_t cpu_quota_us = -1;  // per period; -1: none
  std::int64_t cpu_period_us = 100'000;
  std::int64_t memory_bytes = -1;  // -1: none
};
CgroupValues compute_cgroup_values(const Resources& resources);

/// One container's groups: a folder in each hierarchy.
struct Cgroup {
  std::vector<std::string> folders = {};
  std::vector<std::string> procs_files() const;
};

class Cgroups {
 public:
  /// Finds what can be used; never fails: see available() and problem().
  static Cgroups detect(const std::string& id);

  int version() const { return version_; }  // 0: none
  bool available() const { return version_ != 0; }
  bool has(std::string_view controller) const;
  /// Why there are none, or which controller is missing; for people.
  const std::string& problem() const { return problem_; }
  std::vector<std::string> roots() const;

  /// `advise`: the memory limit is not enforced.
  Result<Cgroup> create(const std::string& pod_uid, const std::string& name,
                        const Resources& resources, bool advise_memory);
  /// How often the kernel killed a process of it for memory.
  static std::int64_t oom_kills(const Cgroup& cgroup);
  /// SIGKILL for every process in it.
  static void kill_all(const Cgroup& cgroup);
  void remove(const Cgroup& cgroup) const;
  void remove_pod(const std::string& pod_uid) const;
  /// What a container sees at /sys/fs/cgroup: "controller=folder", or "=folder" for version 2.
  std::vector<std::string> views(const Cgroup& cgroup) const;
  /// Kills whatever is in these roots (of an earlier life) and removes them, deepest first.
  static void destroy(const std::vector<std::string>& roots);

 private:
  struct Hierarchy {
    std::string root = {};
    std::vector<std::string> controllers = {};
  };
  int version_ = 0;
  std::vector<Hierarchy> hierarchies_ = {};
  std::string problem_ = {};
};

}  // namespace manta::local
