#include "controllers/raycluster/pod_health.h"

#include "ray/labels.h"

#include <fmt/format.h>

#include <utility>

namespace manta::controllers::raycluster {
namespace {

using kube::PodPhase;
using kube::RestartPolicy;

// Statuses come in any order, so the first container's is found by name.
const kube::TerminatedState* ray_ended(const kube::PodView& pod) {
  const auto* status = pod.container(pod.first_container);
  return status ? status->terminated.get() : nullptr;
}

}  // namespace

std::string terminated_text(const kube::PodView& pod) {
  const auto* end = ray_ended(pod);
  if (!end) return "nil";
  return fmt::format(
      "&ContainerStateTerminated{{ExitCode:{},Signal:{},Reason:{},Message:{},StartedAt:{},"
      "FinishedAt:{},ContainerID:{},}}",
      end->exitCode, end->signal, end->reason, end->message, end->startedAt, end->finishedAt,
      end->containerID);
}

std::string describe_pod(const kube::PodView& pod) {
  return fmt::format(
      "{}; Pod status: {}; Pod restart policy: {}; Ray container terminated status: {}",
      pod.meta.key.to_string(), to_string(pod.phase), to_string(pod.restartPolicy),
      terminated_text(pod));
}

const kube::PodView* troubled_pod(const Pods& pods) {
  const kube::PodView* chosen = nullptr;
  const auto rank = [](const kube::PodView& pod) {
    return std::pair(pod.meta.label(ray::kLabelNodeType) != ray::kNodeTypeHead,
                     std::string_view(pod.meta.key.name));
  };
  for (const auto& pod : pods)
    if (pod->trouble && !pod->meta.deleting && (!chosen || rank(*pod) < rank(*chosen)))
      chosen = pod.get();
  return chosen;
}

PodVerdict judge_pod(const kube::PodView& pod, std::string_view node_type) {
  const auto& name = pod.meta.key.name;
  switch (pod.phase) {
    case PodPhase::Failed:
    case PodPhase::Succeeded:  // under any restartPolicy: evicted Pods end here
      return {true,
              fmt::format("The {} Pod {} status is {} which is a terminal state. KubeRay will "
                          "delete the Pod and create new Pods in the next reconciliation if "
                          "necessary.",
                          node_type, name, to_string(pod.phase))};
    case PodPhase::Running: {
      if (!ray_ended(pod)) break;
      const auto lead = fmt::format(
          "The Pod status of the {} Pod {} is {}, and the Ray container terminated status is {}.",
          node_type, name, to_string(pod.phase), terminated_text(pod));
      if (pod.restartPolicy == RestartPolicy::Never)
        return {true, fmt::format("{} The container is unable to restart due to its restart policy "
                                  "{}, so KubeRay will delete it.",
                                  lead, to_string(pod.restartPolicy))};
      return {false, fmt::format("{} However, KubeRay will not delete the Pod because its "
                                 "restartPolicy is set to {} and it should be able to restart "
                                 "automatically.",
                                 lead, to_string(pod.restartPolicy))};
    }
    case PodPhase::None:
    case PodPhase::Pending:
    case PodPhase::Unknown:
      break;  // the kubelet may still report
  }
  return {false, fmt::format("KubeRay does not need to delete the {} Pod {}. The Pod status is {}, "
                             "and the Ray container terminated status is {}.",
                             node_type, name, to_string(pod.phase), terminated_text(pod))};
}

}  // namespace manta::controllers::raycluster
