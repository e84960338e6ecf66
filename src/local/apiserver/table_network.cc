// The rows of what connects Pods.
#include "fmt/format.h"
#include "local/apiserver/table_cells.h"

namespace manta::local {

JsonArray service_cells(const Json& service, Time now) {
  std::vector<std::string> ports, external;
  for (const auto& port : array_at(service, {"spec", "ports"})) {
    auto one = std::to_string(int_at(port, {"port"}));
    if (const auto node = int_at(port, {"nodePort"})) one += fmt::format(":{}", node);
    ports.push_back(one + "/" + std::string(string_at(port, {"protocol"})));
  }
  const auto type = string_at(service, {"spec", "type"});
  for (const auto& entry : array_at(service, {"status", "loadBalancer", "ingress"}))
    external.emplace_back(string_at(entry, {"ip"}, string_at(entry, {"hostname"})));
  for (const auto& ip : array_at(service, {"spec", "externalIPs"}))
    if (ip.is_string()) external.emplace_back(ip.get_string());
  std::string outside =
      external.empty() ? (type == "LoadBalancer" ? "<pending>" : "<none>") : join(external);
  if (type == "ExternalName") outside = string_at(service, {"spec", "externalName"});
  return {name_of(service),
          Json(type),
          Json(text(service, {"spec", "clusterIP"})),
          Json(outside),
          Json(ports.empty() ? "<none>" : join(ports)),
          Json(age(service, now)),
          Json(selector(service, {"spec", "selector"}))};
}

JsonArray ingress_cells(const Json& object, Time now) {
  std::vector<std::string> hosts, addresses;
  for (const auto& rule : array_at(object, {"spec", "rules"}))
    if (const auto host = string_at(rule, {"host"}); !host.empty()) hosts.emplace_back(host);
  for (const auto& entry : array_at(object, {"status", "loadBalancer", "ingress"}))
    addresses.emplace_back(string_at(entry, {"ip"}, string_at(entry, {"hostname"})));
  return {name_of(object),
          Json(text(object, {"spec", "ingressClassName"})),
          Json(hosts.empty() ? "*" : join(hosts)),
          Json(join(addresses)),
          Json(array_at(object, {"spec", "tls"}).empty() ? "80" : "80, 443"),
          Json(age(object, now))};
}

JsonArray policy_cells(const Json& object, Time now) {
  return {name_of(object), Json(selector(object, {"spec", "podSelector"})), Json(age(object, now))};
}

JsonArray slice_cells(const Json& object, Time now) {
  std::vector<std::string> ports, addresses;
  for (const auto& port : array_at(object, {"ports"}))
    ports.push_back(std::to_string(int_at(port, {"port"})));
  for (const auto& endpoint : array_at(object, {"endpoints"}))
    for (const auto& address : array_at(endpoint, {"addresses"}))
      if (address.is_string()) addresses.emplace_back(address.get_string());
  return {name_of(object), Json(string_at(object, {"addressType"})),
          Json(ports.empty() ? "<unset>" : join(ports)),
          Json(addresses.empty() ? "<unset>" : join(addresses)), Json(age(object, now))};
}

JsonArray endpoints_cells(const Json& object, Time now) {
  std::vector<std::string> all;
  for (const auto& subset : array_at(object, {"subsets"}))
    for (const auto& address : array_at(subset, {"addresses"}))
      for (const auto& port : array_at(subset, {"ports"}))
        all.push_back(fmt::format("{}:{}", string_at(address, {"ip"}), int_at(port, {"port"})));
  return {name_of(object), Json(all.empty() ? "<none>" : join(all)), Json(age(object, now))};
}

}  // namespace manta::local
