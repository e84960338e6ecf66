// Services as a node needs them: names for hosts files, addresses for the proxy, variables for
// containers. Pure.
#pragma once

#include "kube/cache.h"
#include "local/node/env.h"

#include <memory>
#include <string>
#include <vector>

namespace manta::local {

struct ServicePortView {
  std::string name = {};
  std::string protocol = "TCP";
  int port = 0;
  int node_port = 0;
};

struct NodeServiceView {
  kube::ObjectMeta meta = {};
  std::string cluster_ip = {};  // empty: headless, or ExternalName
  bool headless = false;
  std::vector<ServicePortView> ports = {};
};
Result<NodeServiceView> project_node_service(const Json& object);

struct NodeSliceView {
  kube::ObjectMeta meta = {};  // label kubernetes.io/service-name
  struct Endpoint {
    std::string ip = {};
    std::string hostname = {};
    bool ready = true;
  };
  std::vector<Endpoint> endpoints = {};
  std::map<std::string, int, std::less<>> ports = {};  // by name
};
Result<NodeSliceView> project_node_slice(const Json& object);

inline constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";

using NodeServices = std::vector<std::shared_ptr<const NodeServiceView>>;
using NodeSlices = std::vector<std::shared_ptr<const NodeSliceView>>;

struct HostsEntry {
  std::string ip = {};
  std::vector<std::string> names = {};
  bool operator==(const HostsEntry&) const = default;
};

/// Where each Service's names lead: a cluster IP, or the ready addresses of a headless one. The
/// short name stands only in `namespace_`'s Pods (empty: nowhere).
std::vector<HostsEntry> service_hosts(const NodeServices& services, const NodeSlices& slices,
                                      std::string_view namespace_, std::string_view cluster_domain);

/// A Pod's hosts file. `own_names`: the Pod's host name, fully qualified first.
std::string build_pod_hosts(std::string_view pod_ip, const std::vector<std::string>& own_names,
                            const Json& aliases, const std::vector<HostsEntry>& services);

/// The host's file with our block replaced (or, without entries, removed). `id` marks the block.
std::string replace_hosts_block(std::string_view hosts, std::string_view id,
                                const std::vector<HostsEntry>& entries);

/// The Services that containers of a namespace hear of, by name.
std::vector<ServiceEnv> service_env(const NodeServices& services, std::string_view namespace_);

/// What the proxy should listen on and where it leads.
struct ProxyRule {
  std::string ip = {};  // empty: every address (node port)
  int port = 0;
  std::vector<std::pair<std::string, int>> targets = {};  // ready endpoints
  auto operator<=>(const ProxyRule&) const = default;
};
std::vector<ProxyRule> proxy_rules(const NodeServices& services, const NodeSlices& slices);

}  // namespace manta::local
