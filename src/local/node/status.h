// A Pod's status as the kubelet writes it. Pure.
#pragma once

#include "local/node/lifecycle.h"

#include <optional>
#include <string>
#include <vector>

namespace manta::local {

struct PodFacts {
  std::string pod_ip = {};  // empty until the sandbox stands
  std::string host_ip = {};
  Time started = {};  // when the node accepted the Pod
  bool sandbox_ready = false;
  bool initialized = false;
  bool finished = false;
  std::string reason = {};  // DeadlineExceeded, …: the Pod has failed whatever its containers say
  std::string message = {};
};

/// Pending, Running, Succeeded or Failed. Source: kubelet getPhase.
std::string_view pod_phase(const PodSpec& spec, const std::vector<ContainerState>& containers,
                           const PodFacts& facts);

/// The whole status. Conditions of `previous` (the status last seen) that are not the node's stay,
/// and a condition that has not changed keeps its lastTransitionTime.
Json build_pod_status(const PodSpec& spec, const std::vector<ContainerState>& containers,
                      const PodFacts& facts, const Json& previous, Time now);

/// Ready as build_pod_status() would say.
bool is_pod_ready(const PodSpec& spec, const std::vector<ContainerState>& containers,
                  const PodFacts& facts);

/// States to go on with after the node was away: running containers have died unseen, restart
/// counts and endings are kept. Source: what the kubelet does with containers it cannot find.
std::vector<ContainerState> adopt_states(const PodSpec& spec, const Json& status, Time now);

}  // namespace manta::local
