#include "controllers/raycluster/plan.h"

#include "controllers/raycluster/head_pod.h"
#include "controllers/raycluster/objects.h"
#include "controllers/raycluster/pods.h"
#include "controllers/raycluster/redis_cleanup.h"
#include "controllers/raycluster/status.h"
#include "controllers/raycluster/validation.h"
#include "controllers/raycluster/whole_cluster.h"
#include "controllers/writes.h"

#include <utility>

namespace manta::controllers::raycluster {
namespace {

using kube::Plan;
using kube::Stage;

// True when the head may run, and so the workers may be planned.
bool plan_head(const RayClusterSeen& seen, const Settings& settings, Plan& plan) {
  const auto head = decide_head(see_head(seen));
  plan.stages.push_back(head_writes(seen, head, settings));
  return head.step == HeadStep::Create || head.step == HeadStep::Keep;
}

void plan_pods(const RayClusterSeen& seen, const Settings& settings, Time now, Plan& plan) {
  switch (decide_suspension(seen, settings)) {
    case SuspendStep::Wait:
      return;
    case SuspendStep::Delete:
      plan.stages.push_back(suspension_writes(seen));
      return;
    case SuspendStep::None:
      break;
  }
  const auto upgrade = decide_upgrade(seen, settings);
  plan.stages.push_back(upgrade_writes(seen, upgrade, settings));
  if (upgrade == UpgradeStep::Recreate) return;
  // A head that is refused holds the workers back: they could only wait for it.
  if (plan_head(seen, settings, plan)) plan.stages.push_back(group_writes(seen, settings, now));
}

// The failures of what this plan still wants; those of what nobody wants any more say nothing.
void look_for_trouble(const Plan& plan, const kube::Failures& failures, Trouble& trouble) {
  for (const auto& stage : plan.stages)
    for (const auto& write : stage) {
      const auto found = failures.find(write.lane);
      if (found == failures.end()) continue;
      trouble.any = true;
      if (trouble.marker || found->second.marker.empty()) continue;
      trouble.marker = found->second.marker;
      trouble.message = found->second.error.message;
    }
}

Plan plan_deleted(const RayClusterSeen& seen, const Settings& settings, Time now) {
  // Without our finalizer everything goes by owner references.
  if (!has_cleanup_finalizer(seen)) return {};
  return plan_redis_cleanup(seen, settings, now);
}

Plan plan_live(const RayClusterSeen& seen, const Settings& settings,
               const kube::PlanContext& context) {
  Plan plan;
  if (wants_redis_cleanup(seen, settings) && !has_cleanup_finalizer(seen)) {
    // Nothing that the finalizer guards exists before it.
    plan.stage().push_back(add_cleanup_finalizer(seen));
    return plan;
  }
  auto objects = decide_objects(seen, settings, context.now);
  plan.events = std::move(objects.events);
  plan.stages.push_back(std::move(objects.writes));
  Trouble trouble{.any = !objects.blocked.empty()};
  if (objects.blocked.empty()) plan_pods(seen, settings, context.now, plan);
  look_for_trouble(plan, context.failures, trouble);
  if (auto status = decide_status(seen, trouble, settings, context.now))
    plan.status = update_status(ray::kRayClusters, seen.cluster->meta, ray::part_to_json(*status));
  return plan;
}

}  // namespace

Plan plan(const RayClusterSeen& seen, const Settings& settings, const kube::PlanContext& context) {
  if (!ray::is_managed_by_us(seen.spec().managedBy)) return {};
  if (seen.cluster->meta.deleting) return plan_deleted(seen, settings, context.now);
  auto validity = validate(seen, settings);
  if (!validity.valid) return {.events = std::move(validity.events)};
  auto plan = plan_live(seen, settings, context);
  for (auto& event : validity.events) plan.events.push_back(std::move(event));
  return plan;
}

}  // namespace manta::controllers::raycluster
