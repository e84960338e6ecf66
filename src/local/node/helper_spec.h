// What the daemon asks of a helper process, and how the helper answers.
//
// The daemon never mounts, forks into namespaces or waits itself: it runs its own executable again
// as
//   /proc/self/exe internal-container-init <marker>
// with this spec as JSON in fd 3 and one end of a socket pair as fd 4, on which the helper writes
// one JSON object a line (HelperNews). `marker` names the state folder, so that a later life finds
// what an earlier one left.
#pragma once

#include "base/json.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

inline constexpr std::string_view kHelperArgument = "internal-container-init";
inline constexpr int kHelperSpecFd = 3;
inline constexpr int kHelperNewsFd = 4;
/// To a container's helper: kill the container's init with SIGKILL. (SIGKILL to the helper itself
/// would do that as well, but then nobody waits for the container's end.)
int helper_kill_signal();

/// A bind mount (or a tmpfs) in a container, applied after its root is in place.
struct MountSpec {
  std::string source = {};    // path in the daemon's view; "tmpfs": a new one
  std::string target = {};    // absolute, in the container
  std::string sub_path = {};  // below source; made as a folder when missing
  bool read_only = false;
  std::int64_t tmpfs_bytes = 0;  // 0: the kernel's default
};

/// A small file of the synthesized root.
struct FileSpec {
  std::string path = {};
  std::string content = {};
  std::int32_t mode = 0644;
};
struct LinkSpec {
  std::string path = {};
  std::string to = {};
};

/// A container's root. `lower` empty: synthesized from the host's /usr and the binds; else that
/// folder under an overlay.
struct RootSpec {
  std::string dir = {};    // assembled here; what the container writes lands here (or in upper)
  std::string lower = {};  // folder of an image made with --root
  std::string upper = {};
  std::string work = {};
  std::vector<std::string> binds =
      {};  // host paths shown read-only at the same place, if they exist
  std::vector<std::string> writable = {};  // folders made for the container's user
  std::vector<FileSpec> files = {};
  std::vector<LinkSpec> links = {};
  std::vector<std::string> cgroups =
      {};  // "name=path": shown below /sys/fs/cgroup ("" = path itself)
  bool read_only = false;
  bool own_network = true;  // a fresh /sys can be mounted
};

struct CredentialSpec {
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::vector<std::int64_t> groups = {};
  std::vector<std::string> capabilities = {};  // kept in the bounding set: "CHOWN", …
  bool privileged = false;
  bool no_new_privileges = false;
  bool keep_ids = false;  // rootless: only one user is mapped, stay it
};

struct ProcessSpec {
  std::vector<std::string> argv = {};
  std::vector<std::string> env = {};  // NAME=value
  std::string cwd = {};               // made when missing
  CredentialSpec credentials = {};
  bool tty = false;  // fd 0 is a terminal to take over
  std::int32_t oom_score_adj = 0;
};

/// The network of a Pod's sandbox. Empty bridge: the daemon's own network (hostNetwork).
struct SandboxSpec {
  std::string hostname = {};
  std::string bridge = {};
  std::string veth = {};     // the host's end
  std::string address = {};  // "10.244.0.7"
  std::int32_t prefix = 0;
  std::string gateway = {};
  std::vector<MountSpec> tmpfs = {};  // memory volumes: seen by every container of the Pod
};

struct HelperSpec {
  std::string mode = {};  // sandbox, container, exec, dial, remove
  std::int64_t parent_pid = 0;
  SandboxSpec sandbox = {};
  std::int64_t sandbox_pid = 0;    // container, dial
  std::int64_t container_pid = 0;  // exec: the container's init
  RootSpec root = {};
  std::vector<MountSpec> mounts = {};
  std::vector<std::string> cgroup_procs = {};  // files to write the new process into
  ProcessSpec process = {};
  bool host_pid = false;
  std::int32_t port = 0;                // dial
  std::vector<std::string> paths = {};  // remove
};

Json to_json(const HelperSpec& spec);
Result<HelperSpec> parse_helper_spec(std::string_view text);

/// One line of news from a helper. Which fields are set tells what happened.
struct HelperNews {
  std::int64_t pid = 0;  // container: its init is this process
  bool ready = false;    // sandbox: network and volumes stand; dial: the descriptor follows
  bool started = false;  // container, exec: the program runs
  bool ended = false;    // container, exec: with exit_code or by signal
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  std::string error = {};   // could not do it: what and why
  std::string notice = {};  // something the user should see in the log
};
std::string format_news(const HelperNews& news);  // with the line's end
Result<HelperNews> parse_news(std::string_view line);

/// main() of the helper; never returns to the caller's program. See is_helper_call().
int helper_main(int argc, char** argv);
/// True: main() must do nothing but `return helper_main(argc, argv)`. Also for the wget stand-in.
bool is_helper_call(int argc, char** argv);

}  // namespace manta::local
