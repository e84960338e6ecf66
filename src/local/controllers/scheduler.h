// Which Pod runs on which node, by what Pods ask for and nodes have. Pure: scheduling.cc carries
// the decisions out.
//
// As Kubernetes' scheduler in outcome and words for resources, nodeSelector, required node
// affinity, taints and scheduling gates; no preemption, no spreading. CPU and memory may be handed
// out several times over: a request on a laptop is advice, and a sample that waits for ever teaches
// nobody.
#pragma once

#include "local/controllers/views.h"

#include <memory>
#include <string>
#include <vector>

namespace manta::local {

struct SchedulerOptions {
  /// How many times a node's CPUs and memory may be requested.
  int cpu_factor = 8;
  int memory_factor = 2;
};

struct SchedulerSeen {
  std::vector<std::shared_ptr<const PodView>> pods = {};
  std::vector<std::shared_ptr<const NodeView>> nodes = {};
};

struct Placement {
  std::shared_ptr<const PodView> pod = {};
  std::string node = {};     // empty: none fits
  std::string reason = {};   // of condition PodScheduled when none fits
  std::string message = {};  // why none fits, in Kubernetes' words
  std::string warning = {};  // fits only because a resource is handed out more than once
};

/// One answer for each Pod that waits for a node and names our scheduler, by priority and age.
/// Earlier answers count for later ones.
std::vector<Placement> decide_placements(const SchedulerSeen& seen,
                                         const SchedulerOptions& options);

}  // namespace manta::local
