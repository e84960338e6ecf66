// What a node can be told.
#pragma once

#include "base/time.h"
#include "kube/object.h"
#include "local/node/container_log.h"

#include <cstdint>
#include <string>
#include <vector>

namespace manta::local {

struct NodeOptions {
  std::string node_name = "manta";
  /// Everything of the node lives below: Pods' files, logs, its marker. One node a folder.
  std::string state_folder = {};
  /// How helpers are started: a program whose main() hands over to helper_main(). Empty: this one.
  std::string executable = {};
  bool rootless = false;         // enter_rootless() was called; found out at start() anyway
  std::string pod_network = {};  // "10.244.0.0/16"; empty: a free 10.x.0.0/16
  /// Pods reach what this process reaches: its traffic is forwarded, and names outside resolve.
  bool outbound = true;
  /// Whom to ask for names outside; empty: the servers of /etc/resolv.conf.
  std::vector<std::string> name_servers = {};
  /// Shown at /etc/pip.conf in containers of Python environments; empty: none.
  std::string pip_config = {};
  std::string cluster_domain = "cluster.local";
  /// Keep Service names in the host's /etc/hosts while running. Rootless: in a copy that only this
  /// process sees there.
  bool write_host_names = true;
  std::string host_names_file = "/etc/hosts";
  /// Memory limits are not enforced, only told to programs (Ray's sample manifests ask for less
  /// than Ray needs on some machines).
  bool advise_memory_limits = false;
  std::int64_t cpu_milli = 0;  // capacity; 0: the machine's
  std::int64_t memory = 0;     // bytes; 0: the machine's
  std::int64_t max_pods = 250;
  kube::StringMap labels = {};
  std::string version = "v1.37.0";  // kubeletVersion
  Duration lease_period = std::chrono::seconds{10};
  Duration volume_refresh = std::chrono::seconds{15};
  /// Containers get this long at most when the node stops.
  Duration stop_grace = std::chrono::seconds{5};
  LogLimits logs = {};
};

}  // namespace manta::local
