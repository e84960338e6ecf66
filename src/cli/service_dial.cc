#include "cli/service_dial.h"

#include "kube/http_client.h"
#include "operator/dashboard_fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace manta::cli {
namespace {

/// The name of the Service's port with this number; nothing when it has none.
std::optional<std::string> port_name(const Json& service, std::string_view number) {
  for (const auto& port : array_at(service, {"spec", "ports"}))
    if (std::to_string(int_at(port, {"port"})) == number)
      return std::string(string_at(port, {"name"}));
  return std::nullopt;
}

Task<Result<kube::RawResponse>> fetch(std::shared_ptr<kube::HttpClient> client, kube::Api& api,
                                      std::string host, kube::RawRequest request) {
  if (const auto address = parse_service_address(host)) {
    const kube::ObjectKey key{address->namespace_, address->service};
    auto service = co_await api.get(kube::kServices, key);
    if (!service) co_return failed(service.error());
    auto endpoints = co_await api.get(kube::kEndpoints, key);
    if (!endpoints) co_return failed(endpoints.error());
    auto picked = pick_endpoint(*service, *endpoints, *address);
    if (!picked) co_return failed(picked.error());
    host = std::move(*picked);
  }
  const auto to_pod = operator_::fetch_over(*client, [] { return true; });
  co_return co_await to_pod(std::move(host), std::move(request));
}

}  // namespace

std::optional<ServiceAddress> parse_service_address(std::string_view host) {
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::vector<std::string_view> labels;
  for (auto rest = host.substr(0, colon);;) {
    const auto dot = rest.find('.');
    labels.push_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (labels.size() < 3 || labels[2] != "svc") return std::nullopt;
  return ServiceAddress{.namespace_ = std::string(labels[1]),
                        .service = std::string(labels[0]),
                        .port = std::string(host.substr(colon + 1))};
}

Result<std::string> pick_endpoint(const Json& service, const Json& endpoints,
                                  const ServiceAddress& address) {
  const auto name = port_name(service, address.port);
  if (!name)
    return failed(ErrorCode::NotFound,
                  fmt::format("Service {}/{} has no port {}", address.namespace_, address.service,
                              address.port));
  for (const auto* list : {"addresses", "notReadyAddresses"}) {
    for (const auto& subset : array_at(endpoints, {"subsets"})) {
      const auto& addresses = array_at(subset, {list});
      if (addresses.empty()) continue;
      for (const auto& port : array_at(subset, {"ports"}))
        if (string_at(port, {"name"}) == *name)
          return fmt::format("{}:{}", string_at(addresses[0], {"ip"}), int_at(port, {"port"}));
    }
  }
  return failed(ErrorCode::Unavailable, fmt::format("no Pod of Service {}/{} has an address",
                                                    address.namespace_, address.service));
}

std::function<Task<Result<kube::RawResponse>>(std::string, kube::RawRequest)> make_service_fetch(
    AsioLoop& loop, kube::Api& api) {
  auto client = std::make_shared<kube::HttpClient>(loop, kube::HttpClientOptions{});
  return [client, &api](std::string host, kube::RawRequest request) {
    return fetch(client, api, std::move(host), std::move(request));
  };
}

}  // namespace manta::cli
