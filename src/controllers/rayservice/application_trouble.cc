#include "controllers/rayservice/application_trouble.h"

#include "base/excerpt.h"
#include "controllers/rayservice/serve_config.h"
#include "controllers/rayservice/serve_config_faults.h"
#include "controllers/writes.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::controllers::rayservice {
namespace {

constexpr std::size_t kLongestLine = 512;
constexpr std::size_t kMostTold = 5;  // a condition's message has 32768 bytes

bool is_in_trouble(const ray::ServeApplicationStatus& application) {
  return application.status == "DEPLOY_FAILED" || application.status == "UNHEALTHY";
}

// Of a traceback the last line is the error; the rest is in the application's status.
std::string last_line(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == text.npos) return {};
  text = text.substr(0, end + 1);
  text.remove_prefix(text.find_last_of('\n') + 1);  // npos + 1 is 0
  text.remove_prefix(text.find_first_not_of(" \t\r"));
  return excerpt(text, kLongestLine);
}

// The stored status remembers what was told, so a restart tells nothing twice.
bool was_told(const ray::ServeClusterStatus& stored, const std::string& name,
              std::string_view status) {
  const auto found = stored.applicationStatuses.find(name);
  return found != stored.applicationStatuses.end() && found->second.status == status &&
         !found->second.message.empty();
}

// What Ray says of deployments that are on their way: replicas that fit nowhere, for one.
std::vector<std::string> waiting_deployments(const std::string& name,
                                             const ray::ServeApplicationStatus& application) {
  std::vector<std::string> out;
  if (application.status != "DEPLOYING") return out;
  for (const auto& [deployment, status] : application.serveDeploymentStatuses)
    if (const auto why = last_line(status.message); !why.empty() && status.status != "HEALTHY")
      out.push_back(fmt::format("deployment {} of application {}: {}", deployment, name, why));
  return out;
}

void tell_cluster(Draft& draft, const ray::ServeClusterStatus& now,
                  const ray::ServeClusterStatus& stored, std::vector<std::string>& waits) {
  std::size_t found = 0;
  const auto tell = [&](std::string fact) {
    if (++found <= kMostTold) waits.push_back(std::move(fact));
  };
  for (const auto& [name, application] : now.applicationStatuses) {
    for (auto& fact : waiting_deployments(name, application)) tell(std::move(fact));
    if (!is_in_trouble(application)) continue;
    auto fact =
        fmt::format("application {} of {} is {}", name, now.rayClusterName, application.status);
    const auto reason = last_line(application.message);
    if (!reason.empty()) fact += ": " + reason;
    if (!reason.empty() && found < kMostTold && !was_told(stored, name, application.status))
      draft.plan.events.push_back(warning("ServeApplicationFailed", "Reconcile", fact));
    tell(std::move(fact));
  }
  if (found > kMostTold)
    waits.push_back(fmt::format("{} more troubles of applications", found - kMostTold));
}

// What is wrong with the config itself is known before any cluster can be asked.
void tell_config(Draft& draft) {
  const auto config = parse_serve_config(draft.spec().serveConfigV2);
  if (!config) {
    const auto& why = config.error().message;
    if (std::ranges::find(draft.waits, why) != draft.waits.end())
      return;  // a cluster was to get it
    draft.plan.events.push_back(warning("FailedToUpdateServeApplications", "Update", why));
    return draft.waits.push_back(why);
  }
  // What Ray has taken it has judged.
  if (!draft.status.activeServiceStatus.applicationStatuses.empty() ||
      !draft.status.pendingServiceStatus.applicationStatuses.empty())
    return;
  for (auto& fault : serve_config_faults(*config)) draft.waits.push_back(std::move(fault));
}

}  // namespace

void tell_trouble(Draft& draft) {
  const auto& stored = draft.service().status;
  const bool upgrading = !draft.active_name().empty() && !draft.pending_name().empty();
  tell_cluster(draft, draft.status.activeServiceStatus, stored.activeServiceStatus, draft.waits);
  tell_cluster(draft, draft.status.pendingServiceStatus, stored.pendingServiceStatus,
               upgrading ? draft.upgrade_waits : draft.waits);
  tell_config(draft);
}

}  // namespace manta::controllers::rayservice
