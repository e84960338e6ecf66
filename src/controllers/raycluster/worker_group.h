// How many Pods a worker group should have, which of them go, and which are to be made.
#pragma once

#include "controllers/raycluster/seen.h"

#include <cstdint>
#include <string>
#include <vector>

namespace manta::controllers::raycluster {

struct GroupSeen {
  Pods pods = {};              // of the group, by name, those being deleted too
  Pods cluster = {};           // of the whole cluster: workersToDelete may name any
  bool surplus_may_go = true;  // no autoscaler owns the choice, or the operator is told to choose
  bool index_replicas = true;  // gate RayMultiHostIndexing
};

struct PodRemoval {
  PodPtr pod = {};
  /// Which of upstream's texts the event carries. Source: spec/02 §9.
  enum class Cause { Unhealthy, Named, Surplus, Replica } cause = Cause::Unhealthy;
  std::string why = {};
};

struct NewWorker {
  std::int32_t replica_index = -1;  // -1: no label
  std::int32_t host_index = -1;
  std::int32_t replica_number = -1;  // Pods of one new replica share it; its name comes from there
};

/// Removals and creations may run side by side.
struct GroupDecision {
  std::vector<PodRemoval> remove = {};
  std::vector<NewWorker> create = {};
};

/// Pods being deleted count as running (their replacements wait for the room) but are chosen first
/// when there are too many. Source: spec/02 §4.1.
GroupDecision decide_group(const ray::WorkerGroupSpec& group, const GroupSeen& seen);

/// The same for groups whose replicas are sets of numOfHosts Pods: whole replicas come and go. A
/// replica that lost a Pod goes as a whole; one that is going no longer counts. Source: spec/02
/// §4.2.
GroupDecision decide_replicas(const ray::WorkerGroupSpec& group, const GroupSeen& seen);

}  // namespace manta::controllers::raycluster
