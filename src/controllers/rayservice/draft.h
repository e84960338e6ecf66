// What one pass over a RayService fills in: writes, facts, when to look again, and the status as it
// should be.
#pragma once

#include "controllers/rayservice/rollout.h"
#include "controllers/rayservice/seen.h"
#include "controllers/settings.h"
#include "controllers/writes.h"
#include "kube/plan.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::controllers::rayservice {

struct Draft {
  const RayServiceSeen& seen;
  const Settings& settings;
  const kube::PlanContext& context;
  bool incremental = false;
  kube::Plan plan = {};
  ray::RayServiceStatus status = {};  // starts as the stored one

  /// Clusters of which something must be known or done first: the status keeps what it said of
  /// them.
  std::set<std::string, std::less<>> blocked = {};
  std::vector<std::string> waits = {};          // for people: why it is not Ready yet
  std::vector<std::string> upgrade_waits = {};  // why the upgrade stands still

  const ray::RayService& service() const { return *seen.service; }
  const ray::RayServiceSpec& spec() const { return seen.service->spec; }
  Time now() const { return context.now; }
  const std::string& active_name() const { return status.activeServiceStatus.rayClusterName; }
  const std::string& pending_name() const { return status.pendingServiceStatus.rayClusterName; }

  /// All writes are independent of each other and have lanes of their own, so they go side by side.
  void write(kube::Write write) {
    if (plan.stages.empty()) plan.stage();
    plan.stages.front().push_back(std::move(write));
  }
  /// Plans again at `instant` at the latest, unless it has come.
  void look_at(Time instant) { look_again_within(plan, instant - now()); }
  /// True when `instant` has come; otherwise arranges to be asked again then.
  bool has_come(Time instant) {
    if (now() >= instant) return true;
    look_at(instant);
    return false;
  }
  void block(std::string_view cluster, std::string why = {}) {
    blocked.emplace(cluster);
    if (!why.empty()) waits.push_back(std::move(why));
  }
};

}  // namespace manta::controllers::rayservice
