#include "local/node/services.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::local {

Result<NodeServiceView> project_node_service(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  NodeServiceView view;
  view.meta = std::move(*meta);
  const auto ip = string_at(object, {"spec", "clusterIP"});
  const bool external = string_at(object, {"spec", "type"}) == "ExternalName";
  view.headless = ip == "None" && !external;
  if (ip != "None" && !external) view.cluster_ip = ip;
  for (const auto& port : array_at(object, {"spec", "ports"}))
    view.ports.push_back(
        {std::string(string_at(port, {"name"})), std::string(string_at(port, {"protocol"}, "TCP")),
         static_cast<int>(int_at(port, {"port"})), static_cast<int>(int_at(port, {"nodePort"}))});
  return view;
}

Result<NodeSliceView> project_node_slice(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  NodeSliceView view;
  view.meta = std::move(*meta);
  if (string_at(object, {"addressType"}, "IPv4") != "IPv4") return view;
  for (const auto& endpoint : array_at(object, {"endpoints"}))
    for (const auto& address : array_at(endpoint, {"addresses"}))
      if (address.is_string())
        view.endpoints.push_back({std::string(address.as_string()),
                                  std::string(string_at(endpoint, {"hostname"})),
                                  bool_at(endpoint, {"conditions", "ready"}, true)});
  for (const auto& port : array_at(object, {"ports"}))
    view.ports[std::string(string_at(port, {"name"}))] = static_cast<int>(int_at(port, {"port"}));
  return view;
}

template <class Visit>
static void each_slice_of(const NodeServiceView& service, const NodeSlices& slices, Visit visit) {
  for (const auto& slice : slices)
    if (slice->meta.key.namespace_ == service.meta.key.namespace_ &&
        slice->meta.label(kServiceNameLabel) == service.meta.key.name)
      visit(*slice);
}

static std::vector<std::string> names_of(const kube::ObjectKey& key, std::string_view namespace_,
                                         std::string_view domain, std::string_view prefix = "") {
  const auto dot_ns = fmt::format("{}{}.{}", prefix, key.name, key.namespace_);
  std::vector<std::string> names = {fmt::format("{}.svc.{}", dot_ns, domain), dot_ns + ".svc",
                                    dot_ns};
  if (key.namespace_ == namespace_) names.push_back(fmt::format("{}{}", prefix, key.name));
  return names;
}

std::vector<HostsEntry> service_hosts(const NodeServices& services, const NodeSlices& slices,
                                      std::string_view namespace_,
                                      std::string_view cluster_domain) {
  std::vector<HostsEntry> entries;
  for (const auto& service : services) {
    const auto& key = service->meta.key;
    if (!service->headless) {
      if (!service->cluster_ip.empty())
        entries.push_back({service->cluster_ip, names_of(key, namespace_, cluster_domain)});
      continue;
    }
    each_slice_of(*service, slices, [&](const NodeSliceView& slice) {
      for (const auto& endpoint : slice.endpoints) {
        if (!endpoint.ready) continue;
        entries.push_back({endpoint.ip, names_of(key, namespace_, cluster_domain)});
        if (!endpoint.hostname.empty())
          entries.push_back(
              {endpoint.ip, names_of(key, namespace_, cluster_domain, endpoint.hostname + ".")});
      }
    });
  }
  return entries;
}

static void append(std::string& text, const HostsEntry& entry) {
  text += entry.ip;
  for (const auto& name : entry.names) text += "\t" + name;
  text += "\n";
}

std::string build_pod_hosts(std::string_view pod_ip, const std::vector<std::string>& own_names,
                            const Json& aliases, const std::vector<HostsEntry>& services) {
  std::string text =
      "# Kept by Manta: changes are overwritten.\n"
      "127.0.0.1\tlocalhost\n"
      "::1\tlocalhost ip6-localhost ip6-loopback\n";
  append(text, {std::string(pod_ip), own_names});
  if (aliases.is_array())
    for (const auto& alias : aliases.as_array()) {
      HostsEntry entry{std::string(string_at(alias, {"ip"}))};
      for (const auto& name : array_at(alias, {"hostnames"}))
        if (name.is_string()) entry.names.emplace_back(name.as_string());
      append(text, entry);
    }
  for (const auto& entry : services) append(text, entry);
  return text;
}

std::string replace_hosts_block(std::string_view hosts, std::string_view id,
                                const std::vector<HostsEntry>& entries) {
  const auto begin = fmt::format("# BEGIN manta {}\n", id);
  const auto end = fmt::format("# END manta {}\n", id);
  std::string out(hosts);
  if (const auto from = out.find(begin); from != std::string::npos) {
    const auto to = out.find(end, from);
    // A block whose end someone has cut off: take the line that is surely ours.
    out.erase(from, to == std::string::npos ? begin.size() : to + end.size() - from);
  }
  if (entries.empty()) return out;
  if (!out.empty() && !out.ends_with('\n')) out += '\n';
  out += begin;
  for (const auto& entry : entries) append(out, entry);
  return out + end;
}

std::vector<ServiceEnv> service_env(const NodeServices& services, std::string_view namespace_) {
  std::vector<ServiceEnv> all;
  for (const auto& service : services) {
    const auto& key = service->meta.key;
    const bool api_server = key.namespace_ == "default" && key.name == "kubernetes";
    if (service->cluster_ip.empty() || (key.namespace_ != namespace_ && !api_server)) continue;
    ServiceEnv env{key.name, service->cluster_ip};
    for (const auto& port : service->ports)
      env.ports.push_back({port.name, port.protocol, port.port});
    all.push_back(std::move(env));
  }
  return all;
}

std::vector<ProxyRule> proxy_rules(const NodeServices& services, const NodeSlices& slices) {
  std::vector<ProxyRule> rules;
  for (const auto& service : services) {
    if (service->cluster_ip.empty()) continue;
    for (const auto& port : service->ports) {
      if (port.protocol != "TCP") continue;
      ProxyRule rule{service->cluster_ip, port.port};
      each_slice_of(*service, slices, [&](const NodeSliceView& slice) {
        const auto target = slice.ports.find(port.name);
        if (target == slice.ports.end()) return;
        for (const auto& endpoint : slice.endpoints)
          if (endpoint.ready) rule.targets.emplace_back(endpoint.ip, target->second);
      });
      std::ranges::sort(rule.targets);
      if (port.node_port > 0) rules.push_back({"", port.node_port, rule.targets});
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

}  // namespace manta::local
