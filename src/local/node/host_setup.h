// What a node needs of its machine: a look at it for `manta doctor`, and the namespaces that let it
// run without root.
#pragma once

#include "base/result.h"

#include <string>
#include <vector>

namespace manta::local {

struct MachineReport {
  enum class Level { Fine, Note, Problem };  // Note: works with less; Problem: Pods will not run
  struct Line {
    std::string what = {};
    Level level = Level::Fine;
    std::string detail = {};
  };
  std::vector<Line> lines = {};
  bool usable() const;
};

/// Tries things out in child processes and leaves nothing behind. Needs a single-threaded process.
MachineReport check_machine(const std::string& state_folder);

/// True: this process lacks root and must enter_rootless() before it can run Pods.
bool needs_rootless();

/// True: this process's user namespace maps too few users for containers to run as their own.
/// (After enter_rootless(), and in some containers.)
bool has_one_user();

/// Makes this process root in namespaces of its own (user, mount, network, IPC). Call early in
/// main(), while there is one thread, and after opening every socket that the host's programs are
/// to connect to: sockets opened later live in the Pods' network. The host's network cannot be
/// reached from then on.
Result<void> enter_rootless();

/// Rootless: a way from this process's network to the host's, by the program slirp4netns.
///
///   auto way = UserNetwork::prepare();   // still in the host's network
///   enter_rootless();
///   way.connect();                       // lasts as long as this process
class UserNetwork {
 public:
  static UserNetwork prepare();
  /// Fails when the program is missing, or says why it cannot.
  Result<void> connect();
  /// Answers names outside for those who are connected.
  static constexpr const char* kNameServer = "10.0.2.3";

 private:
  int child_ = -1;  // the process that waits to become slirp4netns
  int go_ = -1;     // to it
  int ready_ = -1;  // from it
  int log_ = -1;    // what it says
};

/// Rootless: gives this process (and nobody else) a hosts file of its own at /etc/hosts, kept at
/// `path`.
Result<void> own_hosts_file(const std::string& path);

/// Where a firewall filters bridges or forwarding (Docker's hosts), lets Pods talk to each other
/// and outside. Best effort.
void allow_bridge_traffic(const std::string& bridge);
void forbid_bridge_traffic(const std::string& bridge);

}  // namespace manta::local
