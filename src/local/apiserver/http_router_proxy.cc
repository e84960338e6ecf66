// pods/proxy and services/proxy: which address is meant. Passing the request on is
// http_session.cc's.
#include "base/text.h"
#include "fmt/format.h"
#include "local/apiserver/http_route.h"

#include <algorithm>
#include <cstdlib>

namespace manta::local {
namespace {

struct Address {
  std::string host = {};
  std::uint16_t port = 80;
};

std::unexpected<Error> unavailable(std::string why) {
  return failed(
      Error{.code = ErrorCode::Unavailable, .message = std::move(why), .http_status = 503});
}

/// The port asked for, else the first container's first, else 80.
Result<Address> pod_address(const Json& pod, const std::string& port) {
  Address address;
  address.host = string_at(pod, {"status", "podIP"});
  if (!port.empty()) {
    address.port = static_cast<std::uint16_t>(std::atoi(port.c_str()));
  } else if (const auto& containers = array_at(pod, {"spec", "containers"}); !containers.empty()) {
    if (const auto& ports = array_at(containers[0], {"ports"}); !ports.empty())
      address.port = static_cast<std::uint16_t>(int_at(ports[0], {"containerPort"}));
  }
  if (address.host.empty()) return unavailable("address not allowed");
  return address;
}

/// The Service's port of that name or number, or its first.
const Json* service_port(const Json& service, const std::string& port) {
  for (const auto& entry : array_at(service, {"spec", "ports"}))
    if (port.empty() || string_at(entry, {"name"}) == port ||
        std::to_string(int_at(entry, {"port"})) == port)
      return &entry;
  return nullptr;
}

bool is_ready(const Json& pod) {
  return std::ranges::any_of(array_at(pod, {"status", "conditions"}), [](const Json& condition) {
    return string_at(condition, {"type"}) == "Ready" && string_at(condition, {"status"}) == "True";
  });
}

/// The Pod's port that a Service's port leads to; a name means the container port that has it.
std::uint16_t target_port(const Json& service_port, const Json& pod) {
  const auto* to = find(service_port, {"targetPort"});
  if (to && to->is_int64()) return static_cast<std::uint16_t>(to->get_int64());
  auto port = int_at(service_port, {"port"});
  if (to && to->is_string())
    for (const auto& container : array_at(pod, {"spec", "containers"}))
      for (const auto& entry : array_at(container, {"ports"}))
        if (string_at(entry, {"name"}) == to->get_string()) port = int_at(entry, {"containerPort"});
  return static_cast<std::uint16_t>(port);
}

kube::StringMap selector_of(const Json& service) {
  kube::StringMap wanted;
  for (const auto& [key, value] : object_at(service, {"spec", "selector"}))
    if (value.is_string()) wanted.emplace(key, value.get_string());
  return wanted;
}

/// A ready Pod that the Service selects.
Result<Address> service_address(Rest& rest, const Json& service, const std::string& name,
                                const std::string& port) {
  const auto* chosen = service_port(service, port);
  if (!chosen)
    return unavailable(fmt::format("no service port \"{}\" found for service \"{}\"", port, name));
  const auto none = fmt::format("no endpoints available for service \"{}\"", name);
  const auto wanted = selector_of(service);
  if (wanted.empty()) return unavailable(none);
  kube::Request pods;
  pods.namespace_ = string_at(service, {"metadata", "namespace"});
  pods.label_selector = kube::LabelSelector::equals(wanted).to_string();
  auto page = rest.list(*rest.kinds().find("", "v1", "pods"), pods);
  if (!page) return unavailable(none);
  const bool unready_too = bool_at(service, {"spec", "publishNotReadyAddresses"});
  for (const auto& text : page->items) {
    auto pod = parse_json(*text);
    if (!pod || string_at(*pod, {"status", "podIP"}).empty()) continue;
    if (!unready_too && !is_ready(*pod)) continue;
    return Address{std::string(string_at(*pod, {"status", "podIP"})), target_port(*chosen, *pod)};
  }
  return unavailable(none);
}

}  // namespace

HttpAnswer HttpRouter::proxy(const Route& route) {
  // name is [scheme:]name[:port].
  auto parts = split(route.request.name, ':');
  if (parts.size() == 3) parts.erase(parts.begin());
  const auto& name = parts.front();
  const std::string port = parts.size() > 1 ? parts[1] : "";
  auto object = rest_.get(*route.kind, route.request.namespace_, name);
  if (!object) return error_answer(object.error());
  auto address = route.kind->resource.plural == "pods"
                     ? pod_address(*object, port)
                     : service_address(rest_, *object, name, port);
  if (!address) return error_answer(address.error());
  ProxyTarget target{.host = std::move(address->host), .port = address->port};
  target.path = route.rest.empty() ? "/" : route.rest;
  if (const auto raw = raw_query(route.query); !raw.empty()) target.path += "?" + raw;
  HttpAnswer answer;
  answer.proxy = std::move(target);
  return answer;
}

}  // namespace manta::local
