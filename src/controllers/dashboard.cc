#include "controllers/dashboard.h"

#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::controllers {

std::optional<std::string> dashboard_address(
    const std::shared_ptr<const kube::ServiceView>& head_service, const Settings& settings) {
  if (!head_service) return std::nullopt;
  const auto& key = head_service->meta.key;
  const auto& ports = head_service->ports;
  const auto port = std::ranges::find(ports, ray::kPortDashboardName, &kube::ServicePortView::name);
  if (port == ports.end()) return std::nullopt;
  return fmt::format("{}:{}",
                     ray::service_host(key.name, key.namespace_, settings.build.cluster_domain),
                     port->port);
}

}  // namespace manta::controllers
