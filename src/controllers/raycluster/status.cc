#include "controllers/raycluster/status.h"

#include "ray/builders/resources.h"
#include "ray/labels.h"

#include <algorithm>

namespace manta::controllers::raycluster {
namespace {

constexpr std::string_view kReady = "ready";
constexpr std::string_view kSuspendedState = "suspended";

std::int32_t count(const Pods& pods, bool (*wanted)(const kube::PodView&)) {
  return static_cast<std::int32_t>(
      std::ranges::count_if(pods, [&](const auto& pod) { return wanted(*pod); }));
}

bool is_running_worker(const kube::PodView& pod) {
  return pod.meta.label(ray::kLabelNodeType) == ray::kNodeTypeWorker &&
         pod.phase == kube::PodPhase::Running;
}

void set_endpoints(kube::StringMap& endpoints, const kube::ServiceView& service) {
  for (const auto& port : service.ports) {
    if (port.name.empty()) continue;
    if (port.nodePort != 0)
      endpoints[port.name] = std::to_string(port.nodePort);
    else if (!port.targetPort.empty())
      endpoints[port.name] = port.targetPort;
  }
}

std::optional<std::string> decide_state(const RayClusterSeen& seen, const Trouble& trouble,
                                        std::int32_t desired_workers) {
  if (ray::is_true(seen.spec().suspend) && seen.pods.empty()) return std::string(kSuspendedState);
  // Never withdrawn: Pods that fall over later show in the conditions and the counters only.
  if (!trouble.any && static_cast<std::int64_t>(seen.pods.size()) == desired_workers + 1 &&
      all_running(seen.pods))
    return std::string(kReady);
  return std::nullopt;
}

}  // namespace

bool differs(const ray::RayClusterStatus& a, const ray::RayClusterStatus& b) {
  return a.state != b.state || a.reason != b.reason ||
         a.readyWorkerReplicas != b.readyWorkerReplicas ||
         a.availableWorkerReplicas != b.availableWorkerReplicas ||
         a.desiredWorkerReplicas != b.desiredWorkerReplicas ||
         a.minWorkerReplicas != b.minWorkerReplicas || a.maxWorkerReplicas != b.maxWorkerReplicas ||
         a.endpoints != b.endpoints || a.head != b.head || a.conditions != b.conditions;
}

std::optional<ray::RayClusterStatus> decide_status(const RayClusterSeen& seen,
                                                   const Trouble& trouble, const Settings& settings,
                                                   Time now) {
  if (seen.head_services.size() != 1 || seen.head_services.front()->clusterIP.empty())
    return std::nullopt;
  const auto heads = pods_of_type(seen.pods, ray::kNodeTypeHead);
  if (heads.size() > 1) return std::nullopt;
  const auto* head = heads.empty() ? nullptr : heads.front().get();
  const auto& service = *seen.head_services.front();

  const auto& before = seen.cluster->status;
  auto status = before;
  const auto totals = ray::desired_resources(seen.spec());
  status.observedGeneration = seen.cluster->meta.generation;
  status.readyWorkerReplicas = count(
      seen.pods, [](const kube::PodView& pod) { return is_running_worker(pod) && pod.is_ready(); });
  status.availableWorkerReplicas = count(seen.pods, is_running_worker);
  status.desiredWorkerReplicas = ray::desired_worker_pods(seen.spec());
  status.minWorkerReplicas = ray::min_worker_pods(seen.spec());
  status.maxWorkerReplicas = ray::max_worker_pods(seen.spec());
  status.desiredCPU = ray::amount_of(totals, "cpu");
  status.desiredMemory = ray::amount_of(totals, "memory");
  status.desiredGPU = ray::gpus_of(totals);
  status.desiredTPU = ray::amount_of(totals, "google.com/tpu");
  set_endpoints(status.endpoints, service);
  status.head.podIP = head ? head->podIP : "";
  status.head.podName = head ? head->meta.key.name : "";
  status.head.serviceIP = service.clusterIP == "None" ? status.head.podIP : service.clusterIP;
  status.head.serviceName = service.meta.key.name;
  if (auto state = decide_state(seen, trouble, status.desiredWorkerReplicas)) {
    if (*state == kReady) status.reason.clear();
    if (*state != before.state) status.stateTransitionTimes[*state] = now;
    status.state = std::move(*state);
  }
  if (settings.status_conditions) update_conditions(status.conditions, seen, head, trouble, now);
  if (!differs(before, status)) return std::nullopt;
  status.lastUpdateTime = now;
  return status;
}

}  // namespace manta::controllers::raycluster
