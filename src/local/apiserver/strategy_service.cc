// Services: defaults, cluster IPs, node ports. Source: Kubernetes pkg/registry/core/service.
#include "fmt/format.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/name_rules.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <arpa/inet.h>

#include <set>

namespace manta::local {
namespace {

struct Network {
  std::uint32_t base = 0;
  std::uint32_t size = 0;
};

std::optional<std::uint32_t> parse_ip(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::string ip_text(std::uint32_t ip) {
  return fmt::format("{}.{}.{}.{}", ip >> 24, (ip >> 16) & 255, (ip >> 8) & 255, ip & 255);
}

Network parse_network(const std::string& cidr) {
  const auto slash = cidr.find('/');
  const auto base = parse_ip(cidr.substr(0, slash));
  const int bits = slash == cidr.npos ? 32 : std::atoi(cidr.c_str() + slash + 1);
  const std::uint32_t size = bits >= 32 ? 1u : 1u << (32 - bits);
  return {base.value_or(0) & ~(size - 1), size};
}

struct Used {
  std::set<std::string> ips = {};
  std::set<std::int64_t> ports = {};
};

/// What the other Services hold. Read from the store each time: Services are few, and nothing can
/// drift from what is stored.
Used used_by_others(Rest& rest, std::string_view namespace_, std::string_view name) {
  Used used;
  auto page = rest.list(*rest.kinds().find("", "v1", "services"), {});
  if (!page) return used;
  for (const auto& text : page->items) {
    auto service = parse_json(*text);
    if (!service || (string_at(*service, {"metadata", "namespace"}) == namespace_ &&
                     string_at(*service, {"metadata", "name"}) == name))
      continue;
    used.ips.emplace(string_at(*service, {"spec", "clusterIP"}));
    for (const auto& port : array_at(*service, {"spec", "ports"}))
      if (const auto number = int_at(port, {"nodePort"})) used.ports.insert(number);
  }
  return used;
}

bool wants_cluster_ip(std::string_view type) { return type != "ExternalName"; }
bool wants_node_ports(std::string_view type) {
  return type == "NodePort" || type == "LoadBalancer";
}

std::string free_ip(Rest& rest, const Used& used) {
  const auto network = parse_network(rest.options().service_cidr);
  // The upper part is for dynamic addresses; the first 256 stay for those chosen by hand.
  const std::uint32_t low = network.size > 512 ? 256 : 1;
  for (int attempt = 0; attempt < 4096; ++attempt) {
    const auto offset =
        low + static_cast<std::uint32_t>(rest.random().next() % (network.size - low - 1));
    auto text = ip_text(network.base + offset);
    if (!used.ips.contains(text)) return text;
  }
  for (std::uint32_t offset = 1; offset + 1 < network.size; ++offset)
    if (auto text = ip_text(network.base + offset); !used.ips.contains(text)) return text;
  return {};
}

Result<void> allocate(Rest& rest, const Kind& kind, Json& service) {
  auto& spec = object_made_at(service, {"spec"});
  const std::string type(string_at(service, {"spec", "type"}));
  const std::string name(string_at(service, {"metadata", "name"}));
  auto used = used_by_others(rest, string_at(service, {"metadata", "namespace"}), name);
  if (!wants_cluster_ip(type)) {
    for (const auto* field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
      spec.erase(field);
  } else {
    auto ip = std::string(string_at(service, {"spec", "clusterIP"}));
    if (ip.empty()) {
      ip = free_ip(rest, used);
      if (ip.empty())
        return failed(Error{.code = ErrorCode::Internal,
                            .message = "failed to allocate a serviceIP: range is full",
                            .http_status = 500});
    } else if (ip != "None" && used.ips.contains(ip)) {
      FieldErrors errors;
      errors.add("spec.clusterIPs", "FieldValueInvalid",
                 fmt::format("Invalid value: [\"{}\"]: failed to allocate IP {}: provided IP is "
                             "already allocated",
                             ip, ip));
      return failed(errors.to_error(kind.resource, name));
    }
    spec["clusterIP"] = ip;
    spec["clusterIPs"] = JsonArray{Json(ip)};
    set_default(spec, "ipFamilies", JsonArray{"IPv4"});
    set_default(spec, "ipFamilyPolicy", "SingleStack");
  }
  std::optional<Error> problem;
  each_object(spec, "ports", [&](JsonObject& port) {
    const auto* given = port.if_contains("nodePort");
    if (!wants_node_ports(type)) return;
    if (given && given->is_int64() && given->get_int64() != 0) {
      const auto number = given->get_int64();
      if (used.ports.contains(number)) {
        FieldErrors errors;
        errors.invalid("spec.ports[0].nodePort", Json(number),
                       "provided port is already allocated");
        problem = errors.to_error(kind.resource, name);
      }
      used.ports.insert(number);
      return;
    }
    const auto first = rest.options().first_node_port;
    const auto span = static_cast<std::uint64_t>(rest.options().last_node_port - first) + 1;
    for (int attempt = 0; attempt < 100'000; ++attempt) {
      const auto number = first + static_cast<std::int64_t>(rest.random().next() % span);
      if (!used.ports.insert(number).second) continue;
      port["nodePort"] = number;
      return;
    }
  });
  if (problem) return failed(std::move(*problem));
  return {};
}

}  // namespace

void default_service(Json& service) {
  auto& spec = object_made_at(service, {"spec"});
  set_default(spec, "sessionAffinity", "None");
  set_default(spec, "type", "ClusterIP");
  if (string_at(service, {"spec", "sessionAffinity"}) == "ClientIP") {
    auto& config = object_made_at(service, {"spec", "sessionAffinityConfig", "clientIP"});
    set_default(config, "timeoutSeconds", 10800);
  }
  each_object(spec, "ports", [](JsonObject& port) {
    set_default(port, "protocol", "TCP");
    const auto* target = port.if_contains("targetPort");
    const bool unset = !target || (target->is_int64() && target->get_int64() == 0) ||
                       (target->is_string() && target->get_string().empty());
    if (unset)
      if (const auto* number = port.if_contains("port")) {
        Json copy = *number;
        port["targetPort"] = std::move(copy);
      }
  });
  // A copy: adding keys moves the object's values.
  const std::string type(string_at(service, {"spec", "type"}));
  if (type != "ExternalName") set_default(spec, "internalTrafficPolicy", "Cluster");
  if (wants_node_ports(type)) set_default(spec, "externalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") set_default(spec, "allocateLoadBalancerNodePorts", true);
  auto& status = object_made_at(service, {"status"});
  set_default(status, "loadBalancer", JsonObject{});
}

Result<void> prepare_service(Rest& rest, const Kind& kind, Json& service) {
  FieldErrors errors;
  validate_service(service, errors);
  if (!errors.empty())
    return failed(errors.to_error(kind.resource, string_at(service, {"metadata", "name"})));
  return allocate(rest, kind, service);
}

void prepare_service_update(Rest& rest, Json& service, const Json& old) {
  auto& spec = object_made_at(service, {"spec"});
  const std::string type(string_at(service, {"spec", "type"}));
  // Left out, they stay; a type without them gives them up.
  if (wants_cluster_ip(type))
    for (const auto* field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
      if (const auto* value = find(old, {"spec", field})) set_default(spec, field, *value);
  if (!wants_node_ports(type)) {
    spec.erase("externalTrafficPolicy");
    spec.erase("allocateLoadBalancerNodePorts");
    each_object(spec, "ports", [](JsonObject& port) { port.erase("nodePort"); });
  } else {
    each_object(spec, "ports", [&](JsonObject& port) {
      if (port.contains("nodePort")) return;
      for (const auto& before : array_at(old, {"spec", "ports"}))
        if (int_at(before, {"port"}) == (port.contains("port") && port.at("port").is_int64()
                                             ? port.at("port").get_int64()
                                             : -1) &&
            string_at(before, {"protocol"}) ==
                (port.contains("protocol") ? std::string_view(port.at("protocol").as_string())
                                           : "TCP"))
          if (const auto number = int_at(before, {"nodePort"})) port["nodePort"] = number;
    });
  }
  (void)allocate(rest, *rest.kinds().find("", "v1", "services"), service);
}

void validate_service(const Json& service, FieldErrors& errors) {
  const std::string type(string_at(service, {"spec", "type"}));
  const auto& ports = array_at(service, {"spec", "ports"});
  const bool headless = string_at(service, {"spec", "clusterIP"}) == "None";
  if (ports.empty() && !headless && type != "ExternalName") errors.required("spec.ports");
  if (type == "ExternalName" && string_at(service, {"spec", "externalName"}).empty())
    errors.required("spec.externalName", "");
  if (type != "ClusterIP" && type != "NodePort" && type != "LoadBalancer" && type != "ExternalName")
    errors.not_supported("spec.type", Json(type),
                         {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
  if (headless && (type == "NodePort" || type == "LoadBalancer"))
    errors.invalid("spec.clusterIPs[0]", Json("None"),
                   fmt::format("may not be set to 'None' for {} services", type));
  std::set<std::string> names;
  std::set<std::pair<std::string, std::int64_t>> seen;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto path = fmt::format("spec.ports[{}]", i);
    const auto name = std::string(string_at(ports[i], {"name"}));
    if (name.empty() && ports.size() > 1) errors.required(path + ".name");
    if (!name.empty()) {
      if (auto why = check_dns1123_label(name); !why.empty())
        errors.invalid(path + ".name", Json(name), why);
      if (!names.insert(name).second) errors.duplicate(path + ".name", Json(name));
    }
    const auto number = int_at(ports[i], {"port"});
    if (number < 1 || number > 65535)
      errors.invalid(path + ".port", Json(number), "must be between 1 and 65535, inclusive");
    const auto protocol = std::string(string_at(ports[i], {"protocol"}));
    if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP")
      errors.not_supported(path + ".protocol", Json(protocol), {"SCTP", "TCP", "UDP"});
    if (const auto* target = find(ports[i], {"targetPort"})) {
      if (target->is_int64() && (target->get_int64() < 1 || target->get_int64() > 65535))
        errors.invalid(path + ".targetPort", *target, "must be between 1 and 65535, inclusive");
    }
    if (!seen.insert({protocol, number}).second)
      errors.add(
          path, "FieldValueDuplicate",
          fmt::format("Duplicate value: {{\"protocol\":\"{}\",\"port\":{}}}", protocol, number));
  }
  for (const auto& [key, value] : object_at(service, {"spec", "selector"}))
    if (auto why = check_qualified_name(key); !why.empty())
      errors.invalid("spec.selector", Json(std::string(key)), why);
}

void validate_service_update(const Json& service, const Json& old, FieldErrors& errors) {
  const std::string before(string_at(old, {"spec", "clusterIP"}));
  const std::string after(string_at(service, {"spec", "clusterIP"}));
  if (!before.empty() && string_at(service, {"spec", "type"}) != "ExternalName" &&
      before != after && string_at(old, {"spec", "type"}) != "ExternalName")
    errors.add("spec.clusterIPs[0]", "FieldValueInvalid",
               fmt::format("Invalid value: [\"{}\"]: may not change once set", after));
}

}  // namespace manta::local
