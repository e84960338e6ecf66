// How many Pods a worker group should have, which of them go, and which are to be made.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/raycluster/worker_backoff.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manta::controllers::raycluster {

/// So many Pods one plan makes at most, an equal share of each group and at least one; the next
/// plan makes the next ones. A cluster of two thousand million workers costs no memory then.
constexpr std::int64_t kPodsAPlan = 2048;

struct GroupSeen {
  Pods pods = {};               // of the group, by name, those being deleted too
  bool surplus_may_go = true;   // no autoscaler owns the choice, or the operator is told to choose
  bool index_replicas = true;   // gate RayMultiHostIndexing
  bool trim_pending = false;    // gate RayClusterTrimPending, AS-04
  bool replace_slices = false;  // gate RayClusterReplaceSlices, MH-04
  std::int64_t most_at_once = kPodsAPlan;  // of this group; of a multi-host one at least a replica
  const WorkerBackoff* backoff = nullptr;  // with gate RayClusterWorkerBackoff, RC-10
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
  std::int32_t attempt = 0;          // with a back-off: how many before it have ended in a row
};

/// A Pod that belongs to no replica yet gets its place in one.
struct Adoption {
  PodPtr pod = {};
  std::string replica_name = {};  // of a replica that is there; empty: a new one
  NewWorker place = {};
};

/// Removals and creations may run side by side; nothing else is decided beside adoptions.
struct GroupDecision {
  std::vector<PodRemoval> remove = {};
  std::vector<NewWorker> create = {};
  std::vector<Adoption> adopt = {};
  /// When the next Pod that has ended may be replaced.
  std::optional<Time> next_attempt = {};
};

/// How much a Pod serves: 0 not running, 1 not ready, 2 ready. What serves least goes first. RC-04
int use_of(const kube::PodView& pod);
/// Ray, and so its autoscaler, has not heard of it. AS-04
bool never_ran(const kube::PodView& pod);

/// Whether a Pod that has ended stays for now; then the decision says until when.
bool holds(const WorkerBackoff& backoff, const kube::PodView& ended, GroupDecision& out);

/// Pods being deleted no longer count: on a lost node they stay for ever. RC-05. Among those that
/// live the one that serves least goes first, then the youngest, then the one with the highest
/// index, which keeps the rest dense. Source: spec/02 §4.1.
GroupDecision decide_group(const ray::WorkerGroupSpec& group, const GroupSeen& seen);

/// The same for groups whose replicas are sets of numOfHosts Pods: whole replicas come and go. A
/// replica that lost a Pod goes as a whole; one that is going no longer counts. One serves as much
/// as its least Pod; of those that serve alike the highest index goes. Pods that an older operator
/// made without a replica are adopted first, in order of their creation. MH-03. Source: spec/02
/// §4.2.
GroupDecision decide_replicas(const ray::WorkerGroupSpec& group, const GroupSeen& seen);

}  // namespace manta::controllers::raycluster
