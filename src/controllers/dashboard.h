// Where Ray's dashboard is found, for every planner that asks it.
#pragma once

#include "controllers/settings.h"
#include "kube/views.h"

#include <memory>
#include <optional>
#include <string>

namespace manta::controllers {

/// "<service>.<ns>.svc.<domain>:<port>" of a cluster's head Service; nothing while it is not there
/// or has no port named dashboard.
std::optional<std::string> dashboard_address(
    const std::shared_ptr<const kube::ServiceView>& head_service, const Settings& settings);

}  // namespace manta::controllers
