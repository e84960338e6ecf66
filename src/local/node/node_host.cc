#include "base/log.h"
#include "local/node/dns_message.h"
#include "local/node/host_setup.h"
#include "local/node/leftovers.h"
#include "local/node/node_impl.h"
#include "local/node/outbound.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <filesystem>

namespace manta::local {

Result<void> Node::Impl::prepare_host() {
  if (has_one_user()) context.options.rootless = true;
  auto found = state_marker(options().state_folder, random);
  if (!found) return failed(found.error());
  marker = *found;
  const auto lock_path = options().state_folder + "/lock";
  lock = Fd(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    lock = {};  // not ours: stop() must leave the other node's things alone
    return failed(
        ErrorCode::AlreadyExists,
        fmt::format("another node runs with the state folder {}", options().state_folder));
  }
  if (options().rootless && options().write_host_names &&
      options().host_names_file == "/etc/hosts") {
    if (auto own = own_hosts_file(options().state_folder + "/hosts"); !own) {
      log::warn("this process does not know Service names", {{"error", own.error().message}});
      context.options.write_host_names = false;
    }
  }
  remove_leftovers(options(), marker);

  auto executable = options().executable;
  std::error_code error;
  if (executable.empty())
    executable = std::filesystem::read_symlink("/proc/self/exe", error).string();
  context.helpers.executable = executable;
  context.helpers.marker = marker;
  context.cgroups = Cgroups::detect(marker);
  record_cgroups(options().state_folder, context.cgroups.roots());
  if (!context.cgroups.problem().empty())
    warnings.push_back(fmt::format("CPU and memory limits are {}: {}",
                                   context.cgroups.available() ? "partly advice" : "advice only",
                                   context.cgroups.problem()));
  auto network = PodNetwork::start(marker, options().pod_network);
  if (network)
    context.network.emplace(std::move(*network));
  else
    warnings.push_back(fmt::format("Pods have no network of their own (hostNetwork works): {}",
                                   network.error().message));
  if (context.network && !options().rootless) allow_bridge_traffic(context.network->bridge());
  if (context.network && options().outbound) open_way_out();

  machine = read_machine(options().state_folder);
  if (options().cpu_milli > 0) machine.cpu_milli = options().cpu_milli;
  if (options().memory > 0) machine.memory = options().memory;
  context.facts = {machine.address, machine.cpu_milli, machine.memory};
  for (const auto& warning : warnings) log::warn(warning);
  return {};
}

/// Pods work without it; what is missing is a warning.
void Node::Impl::open_way_out() {
  const auto& network = *context.network;
  const auto opened = open_outbound(marker, network.bridge(), network.net());
  if (!opened) {
    warnings.push_back(fmt::format("Pods cannot reach the internet: {}", opened.error().message));
    return;
  }
  auto upstream = [servers = options().name_servers] {
    return servers.empty() ? parse_name_servers(read_file("/etc/resolv.conf").value_or(""))
                           : servers;
  };
  const auto address = format_ipv4(network.gateway());
  auto server = NameServer::start(loop, {address, options().cluster_domain, std::move(upstream)});
  if (server) {
    name_server = std::move(*server);
    context.name_server = address;
  } else {
    warnings.push_back(
        fmt::format("Pods cannot resolve names of the internet: {}", server.error().message));
  }
}

}  // namespace manta::local
