#include "controllers/raycluster/head_pod.h"

#include "controllers/raycluster/pod_health.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::raycluster {

HeadSeen see_head(const RayClusterSeen& seen) {
  return {
      .heads = pods_of_type(seen.pods, ray::kNodeTypeHead),
      .provisioned =
          ray::condition_is_true(seen.cluster->status.conditions, "RayClusterProvisioned"),
      .restart_disabled =
          seen.cluster->meta.annotation(ray::kAnnotationDisableHeadRestart) == "true",
  };
}

HeadDecision decide_head(const HeadSeen& seen) {
  using enum HeadStep;
  if (seen.heads.size() > 1)  // made by hand; either may be in use
    return {Hold,
            fmt::format("{} head pods found. Please delete extra head pods", seen.heads.size())};
  if (seen.heads.empty()) {
    // A new head has lost the old one's job, so RayJob's sidecar mode wants none.
    if (seen.provisioned && seen.restart_disabled) return {Hold, "head restart is disabled"};
    return {Create, "no head Pod"};
  }
  const auto& head = *seen.heads.front();
  if (is_deleting(head)) return {Keep, "head Pod is terminating"};  // one head at a time
  auto verdict = judge_pod(head, ray::kNodeTypeHead);
  return {verdict.remove ? Delete : Keep, std::move(verdict.why)};
}

}  // namespace manta::controllers::raycluster
