#include "controllers/raycluster/conditions.h"

#include "controllers/raycluster/notes.h"
#include "controllers/raycluster/pod_health.h"
#include "ray/builders/resources.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::controllers::raycluster {
namespace {

ray::Condition condition(std::string_view type, std::string_view status, std::string_view reason,
                         std::string message = {}) {
  return {.type = std::string(type),
          .status = std::string(status),
          .reason = std::string(reason),
          .message = std::move(message)};
}

void update_replica_failure(std::vector<ray::Condition>& conditions, const Trouble& trouble,
                            Time now) {
  if (!trouble.any) ray::remove_condition(conditions, kReplicaFailure);
  // An error without a marker says nothing about Pods, so it leaves the condition as it was.
  else if (trouble.marker)
    ray::set_condition(conditions,
                       condition(kReplicaFailure, "True", *trouble.marker,
                                 fmt::format("{}\n{}", *trouble.marker, trouble.message)),
                       now);
}

// What keeps the Pods from being ready, where somebody complains of it. An alert reads the
// beginning.
std::string provisioning(const Pods& pods) {
  constexpr std::string_view kProvisioning = "RayCluster Pods are being provisioned for first time";
  const auto* pod = troubled_pod(pods);
  if (pod == nullptr) return std::string(kProvisioning);
  return fmt::format("{}. Pod {}: {}", kProvisioning, pod->meta.key.name, *pod->trouble);
}

void update_provisioned(std::vector<ray::Condition>& conditions, bool provisioned, const Pods& pods,
                        Time now) {
  if (suspend_state(conditions) == SuspendState::Suspended) return;
  if (ray::condition_is_true(conditions, kProvisioned)) return;
  ray::set_condition(conditions,
                     provisioned ? condition(kProvisioned, "True", "AllPodRunningAndReadyFirstTime",
                                             "All Ray Pods are ready for the first time")
                                 : condition(kProvisioned, "False", "RayClusterPodsProvisioning",
                                             provisioning(pods)),
                     now);
}

void update_suspension(std::vector<ray::Condition>& conditions, const RayClusterSeen& seen,
                       Time now) {
  const auto set = [&](std::string_view type, bool on) {
    ray::set_condition(conditions, condition(type, on ? "True" : "False", type), now);
  };
  switch (suspend_state(conditions)) {
    case SuspendState::None:
      set(kSuspended, false);
      set(kSuspending, ray::is_true(seen.spec().suspend));
      break;
    case SuspendState::Suspending:
      if (!seen.pods.empty()) break;  // carried out to the end, whatever the spec says meanwhile
      ray::set_condition(conditions,
                         condition(kProvisioned, "False", "RayClusterPodsProvisioning",
                                   "RayCluster has been suspended"),
                         now);
      set(kSuspending, false);
      set(kSuspended, true);
      break;
    case SuspendState::Suspended:
      // SEEN-02, RC-17: an absent field means false.
      if (!ray::is_true(seen.spec().suspend)) set(kSuspended, false);
      break;
  }
}

}  // namespace

SuspendState suspend_state(const std::vector<ray::Condition>& conditions) {
  for (const auto& c : conditions) {
    if (c.status != "True") continue;
    if (c.type == kSuspending) return SuspendState::Suspending;
    if (c.type == kSuspended) return SuspendState::Suspended;
  }
  return SuspendState::None;
}

bool all_running(const Pods& pods) {
  return !pods.empty() && std::ranges::all_of(pods, [](const auto& pod) {
    return pod->phase == kube::PodPhase::Running && (!pod->ready || pod->is_ready());
  });
}

ray::Condition head_condition(const kube::PodView* head) {
  if (!head) return condition(kHeadPodReady, "False", "HeadPodNotFound", "Head Pod not found");
  if (!head->ready) return condition(kHeadPodReady, "False", "Unknown");
  auto out =
      condition(kHeadPodReady, head->ready->status, head->ready->reason, head->ready->message);
  if (out.reason.empty()) out.reason = out.status == "True" ? "HeadPodRunningAndReady" : "Unknown";
  if (out.reason != "ContainersNotReady") return out;
  // The first container that waits or has ended says why.
  for (const auto& status : head->containerStatuses) {
    if (!status.waiting && !status.terminated) continue;
    out.reason = status.waiting ? status.waiting->reason : status.terminated->reason;
    if (out.reason.empty()) out.reason = "Unknown";  // the CRD refuses an empty one
    if (!out.message.empty()) out.message += "; ";
    out.message +=
        fmt::format("{}: {}", status.name,
                    status.waiting ? status.waiting->message : status.terminated->message);
    if (const auto& last = status.last_terminated; status.waiting && last && last->exitCode != 0)
      out.message += fmt::format("; before: exit code {} ({})", last->exitCode, last->reason);
    break;
  }
  return out;
}

void update_conditions(std::vector<ray::Condition>& conditions, const RayClusterSeen& seen,
                       const kube::PodView* head, const Trouble& trouble, const Settings& settings,
                       Time now) {
  update_replica_failure(conditions, trouble, now);
  ray::set_condition(conditions, head_condition(head), now);
  // SEEN-03: with the gate Pods that are still to come, or are refused, count.
  const bool strict = settings.cluster_gates.strict_provisioned;
  const auto counted = strict ? expected_pods(seen) : seen.pods;
  const bool complete =
      !strict || (!trouble.any && std::ssize(counted) == ray::desired_worker_pods(seen.spec()) + 1);
  update_provisioned(conditions, complete && all_running(counted), seen.pods, now);
  update_suspension(conditions, seen, now);
}

}  // namespace manta::controllers::raycluster
