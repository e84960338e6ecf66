#include "local/node/helper_spec.h"

#include <boost/describe/class.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>
#include <signal.h>

#include <exception>

namespace manta::local {

// One list of fields serves both directions.
BOOST_DESCRIBE_STRUCT(MountSpec, (), (source, target, sub_path, read_only, tmpfs_bytes))
BOOST_DESCRIBE_STRUCT(FileSpec, (), (path, content, mode))
BOOST_DESCRIBE_STRUCT(LinkSpec, (), (path, to))
BOOST_DESCRIBE_STRUCT(RootSpec, (),
                      (dir, lower, upper, work, binds, writable, files, links, cgroups, read_only,
                       own_network))
BOOST_DESCRIBE_STRUCT(CredentialSpec, (),
                      (uid, gid, groups, capabilities, privileged, no_new_privileges, keep_ids))
BOOST_DESCRIBE_STRUCT(ProcessSpec, (), (argv, env, cwd, credentials, tty, oom_score_adj))
BOOST_DESCRIBE_STRUCT(SandboxSpec, (), (hostname, bridge, veth, address, prefix, gateway, tmpfs))
BOOST_DESCRIBE_STRUCT(HelperSpec, (),
                      (mode, parent_pid, sandbox, sandbox_pid, container_pid, root, mounts,
                       cgroup_procs, process, host_pid, port, paths))
BOOST_DESCRIBE_STRUCT(HelperNews, (),
                      (pid, ready, started, ended, exit_code, signal, error, notice))

int helper_kill_signal() { return SIGRTMIN; }

Json to_json(const HelperSpec& spec) { return boost::json::value_from(spec); }

template <class T>
static Result<T> read(std::string_view text, std::string_view what) {
  auto json = parse_json(text);
  if (!json) return failed(json.error().in(what));
  try {
    return boost::json::value_to<T>(*json);
  } catch (const std::exception& e) {
    return failed(ErrorCode::Internal, std::string(what) + ": " + e.what());
  }
}

Result<HelperSpec> parse_helper_spec(std::string_view text) {
  return read<HelperSpec>(text, "helper spec");
}

std::string format_news(const HelperNews& news) {
  return dump_json(boost::json::value_from(news)) + "\n";
}

Result<HelperNews> parse_news(std::string_view line) {
  return read<HelperNews>(line, "helper news");
}

}  // namespace manta::local
