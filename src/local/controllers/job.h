// The Job controller's decisions: which Pods a Job should have, when it has succeeded or failed,
// what its status says. Pure; local_controllers.cc wires it to the plan runtime.
//
// As Kubernetes': a finished Pod is first noted in status.uncountedTerminatedPods, then loses its
// finalizer, then moves into the counters, so that no Pod is counted twice or lost whenever the
// process dies. Not built: Indexed completion, successPolicy; such a Job gets a Warning and no
// Pods. Source: Kubernetes batch/v1 Job, "Job termination and cleanup", KEP-2307.
#pragma once

#include "kube/plan.h"
#include "local/controllers/views.h"

#include <memory>
#include <vector>

namespace manta::local {

struct JobSeen {
  /// Null: the Job is gone, and its Pods are only to lose their finalizer.
  std::shared_ptr<const JobView> job = {};
  /// Every Pod that carries the Job's name label, those of an earlier Job of this name too.
  std::vector<std::shared_ptr<const PodView>> pods = {};
};

kube::Plan plan_job(const JobSeen& seen, const kube::PlanContext& context);

/// How long a Job waits for its next Pod after `failures` failed ones in a row: 10 s doubling to 10
/// minutes.
Duration pod_backoff(std::int64_t failures);

}  // namespace manta::local
