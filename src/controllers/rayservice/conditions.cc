#include "controllers/rayservice/conditions.h"

#include "base/excerpt.h"
#include "controllers/writes.h"
#include "ray/labels.h"
#include "ray/validation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace manta::controllers::rayservice {
namespace {

constexpr std::string_view kIsInitializing = "RayService is initializing";
constexpr std::string_view kWaiting = ". Waiting: ";

void update_ready(Draft& draft, std::int32_t endpoints) {
  if (endpoints > 0)
    return mark(draft, kReady, "True", "NonZeroServeEndpoints",
                "Number of serve endpoints is greater than 0");
  if (is_marked(draft.status, kReady) || reason_of(draft.status, kReady) == kValidationFailed)
    mark(draft, kReady, "False", "ZeroServeEndpoints", "Number of serve endpoints dropped to 0");
}

void update_upgrade(Draft& draft) {
  const bool active = !draft.active_name().empty();
  const bool pending = !draft.pending_name().empty();
  if (active && pending)
    return mark(draft, kUpgradeInProgress, "True", "BothActivePendingClustersExist",
                "Both active and pending Ray clusters exist");
  if (active)
    return mark(draft, kUpgradeInProgress, "False", "NoPendingCluster",
                "Active Ray cluster exists and no pending Ray cluster");
  const auto reason = reason_of(draft.status, kUpgradeInProgress);
  if (reason != kInitializing && reason != kInitializingTimeout)
    mark(draft, kUpgradeInProgress, "Unknown", "NoActiveCluster",
         "No active Ray cluster exists, and the RayService is not initializing. Please open a "
         "GitHub "
         "issue in the KubeRay repository.");
}

void check_initializing_timeout(Draft& draft, std::int32_t endpoints) {
  const auto* ready = ray::find_condition(draft.status.conditions, kReady);
  if (endpoints > 0 || !ready || ready->status != "False" || ready->reason != kInitializing) return;
  const auto limit = ray::initializing_timeout(draft.service().meta);
  if (!limit || !*limit || !ready->lastTransitionTime) return;
  const auto spent = draft.now() - *ready->lastTransitionTime;
  if (spent < **limit) return draft.look_at(draft.now() + (**limit - spent));
  draft.status.activeServiceStatus.rayClusterName.clear();
  draft.status.pendingServiceStatus.rayClusterName.clear();
  const auto configured = format_go_duration(**limit);
  const auto took = format_go_duration(std::chrono::duration_cast<Duration>(spent));
  mark(draft, kReady, "False", kInitializingTimeout,
       fmt::format("RayService failed to become ready within the configured timeout of {}. Time "
                   "spent initializing: {}",
                   configured, took));
  draft.waits.clear();
  draft.plan.events.push_back(warning(
      "RayServiceInitializingTimeout", "Reconcile",
      fmt::format("RayService initializing timeout exceeded after {} (configured timeout: {})",
                  took, configured)));
}

void add_waits(ray::RayServiceStatus& status, std::string_view type,
               const std::vector<std::string>& waits) {
  for (auto& condition : status.conditions) {
    if (condition.type != type) continue;
    condition.message.resize(std::min(condition.message.size(), condition.message.find(kWaiting)));
    if (waits.empty()) continue;
    condition.message += kWaiting;
    // The mark must stay, or the next look would not find it.
    condition.message += excerpt(fmt::format("{}", fmt::join(waits, "; ")), kLongestMessage);
  }
}

}  // namespace

void mark(Draft& draft, std::string_view type, std::string_view status, std::string_view reason,
          std::string message) {
  ray::set_condition(draft.status.conditions,
                     {.type = std::string(type),
                      .status = std::string(status),
                      .observedGeneration = draft.status.observedGeneration,
                      .reason = std::string(reason),
                      .message = std::move(message)},
                     draft.now());
}

std::string_view reason_of(const ray::RayServiceStatus& status, std::string_view type) {
  const auto* condition = ray::find_condition(status.conditions, type);
  return condition ? std::string_view(condition->reason) : std::string_view();
}

bool is_marked(const ray::RayServiceStatus& status, std::string_view type) {
  return ray::condition_is_true(status.conditions, type);
}

void mark_initializing(Draft& draft, std::string_view message) {
  for (const auto type : {kReady, kUpgradeInProgress}) {
    ray::remove_condition(draft.status.conditions, type);
    mark(draft, type, "False", kInitializing, std::string(message));
  }
}

void update_conditions(Draft& draft, std::int32_t endpoints) {
  // SEEN-29: of an object that was invalid before it ever served nothing has begun.
  const bool begins = !ray::find_condition(draft.status.conditions, kUpgradeInProgress) ||
                      reason_of(draft.status, kReady) == kValidationFailed;
  if (begins && draft.active_name().empty()) mark_initializing(draft, kIsInitializing);
  update_ready(draft, endpoints);
  update_upgrade(draft);
  check_initializing_timeout(draft, endpoints);
  add_waits(draft.status, kReady, draft.waits);
  add_waits(draft.status, kUpgradeInProgress, draft.upgrade_waits);
}

}  // namespace manta::controllers::rayservice
