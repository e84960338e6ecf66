#include "controllers/raycluster/whole_cluster.h"

#include "controllers/raycluster/conditions.h"
#include "controllers/raycluster/pods.h"
#include "controllers/writes.h"
#include "ray/labels.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>

namespace manta::controllers::raycluster {
namespace {

kube::Stage delete_everything(const RayClusterSeen& seen, std::string_view because,
                              const std::string& done, const std::string& failed) {
  return delete_all(
      seen, seen.pods, all_pods_selector(seen),
      {.lane = std::string(kAllPodsLane),
       .marker = "FailedDeleteAllPods",
       .done_event = normal("DeletedPod", "Delete", done),
       .failed_event = warning("FailedToDeletePodCollection", "Delete", failed + ", {error}"),
       .why = std::string(because)});
}

}  // namespace

SuspendStep decide_suspension(const RayClusterSeen& seen, const Settings& settings) {
  const bool wanted = ray::is_true(seen.spec().suspend);
  const auto state = suspend_state(seen.cluster->status.conditions);
  if (state == SuspendState::Suspending) return SuspendStep::Delete;
  if (!settings.status_conditions) return wanted ? SuspendStep::Delete : SuspendStep::None;
  if (state == SuspendState::Suspended) return SuspendStep::Wait;
  // The condition is written before the first Pod is deleted: a suspension that has begun is
  // carried out whatever happens to us or to the spec meanwhile.
  return wanted ? SuspendStep::Wait : SuspendStep::None;
}

kube::Stage suspension_writes(const RayClusterSeen& seen) {
  const auto name = seen.key().to_string();
  return delete_everything(
      seen, "the cluster is being suspended",
      fmt::format("Deleted Pods for RayCluster {} due to suspension", name),
      fmt::format("Failed deleting Pods due to suspension for RayCluster {}", name));
}

UpgradeStep decide_upgrade(const RayClusterSeen& seen, const Settings& settings) {
  const auto heads = pods_of_type(seen.pods, ray::kNodeTypeHead);
  if (heads.empty()) return UpgradeStep::None;
  const auto& head = heads.front()->meta;
  const auto hash = head.annotation(ray::kAnnotationRecreateHash);
  // Whatever the strategy is now: without a hash no later change could be told. RC-33
  if (hash.empty()) return head.deleting ? UpgradeStep::None : UpgradeStep::Stamp;
  const auto& strategy = seen.spec().upgradeStrategy;
  if (!strategy || strategy->type != "Recreate") return UpgradeStep::None;
  const auto version = head.annotation(ray::kAnnotationVersion);
  if (!version.empty() && version != settings.build.version) return UpgradeStep::Stamp;
  return hash == ray::recreate_hash(seen.spec()) ? UpgradeStep::None : UpgradeStep::Recreate;
}

kube::Stage upgrade_writes(const RayClusterSeen& seen, UpgradeStep step, const Settings& settings) {
  const auto name = seen.key().to_string();
  switch (step) {
    case UpgradeStep::None:
      return {};
    case UpgradeStep::Recreate:
      return delete_everything(
          seen, "the spec has changed and upgradeStrategy is Recreate",
          fmt::format("Deleted all Pods for RayCluster {} due to spec change with Recreate "
                      "upgradeStrategy",
                      name),
          fmt::format("Failed deleting Pods due to spec change with Recreate upgradeStrategy for "
                      "RayCluster {}",
                      name));
    case UpgradeStep::Stamp: {
      const auto heads = pods_of_type(seen.pods, ray::kNodeTypeHead);
      const auto& head = heads.front()->meta;
      return {{.kind = kube::WriteKind::Patch,
               .resource = kube::kPods,
               .key = head.key,
               .body = {{"metadata",
                         {{"uid", head.uid},
                          {"annotations",
                           {{ray::kAnnotationRecreateHash, ray::recreate_hash(seen.spec())},
                            {ray::kAnnotationVersion, settings.build.version}}}}}},
               .lane = "stamp",
               .why = "the head was made by another version of the operator"}};
    }
  }
  return {};
}

}  // namespace manta::controllers::raycluster
