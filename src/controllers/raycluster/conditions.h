// The conditions of a RayCluster. Source: spec/02 §6.3, §7.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"

#include <optional>
#include <string>
#include <vector>

namespace manta::controllers::raycluster {

/// Type names, also used as reasons.
inline constexpr std::string_view kReplicaFailure = "ReplicaFailure";
inline constexpr std::string_view kHeadPodReady = "HeadPodReady";
inline constexpr std::string_view kProvisioned = "RayClusterProvisioned";
inline constexpr std::string_view kSuspending = "RayClusterSuspending";
inline constexpr std::string_view kSuspended = "RayClusterSuspended";

/// Where a suspension stands, read from the conditions.
enum class SuspendState { None, Suspending, Suspended };
SuspendState suspend_state(const std::vector<ray::Condition>& conditions);

/// What went wrong while making this plan's writes.
struct Trouble {
  bool any = false;
  /// One of upstream's markers (FailedCreateHeadPod, …) and the error's text; absent for other
  /// errors.
  std::optional<std::string> marker = {};
  std::string message = {};
};

/// At least one Pod, every one Running, none with a Ready condition that is not True.
bool all_running(const Pods& pods);

/// HeadPodReady as the head Pod (or its absence) makes it.
ray::Condition head_condition(const kube::PodView* head);

/// The new conditions; `head` is null when there is none.
void update_conditions(std::vector<ray::Condition>& conditions, const RayClusterSeen& seen,
                       const kube::PodView* head, const Trouble& trouble, const Settings& settings,
                       Time now);

}  // namespace manta::controllers::raycluster
