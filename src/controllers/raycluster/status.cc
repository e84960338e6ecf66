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

// What a port that is gone has left stays, unless the gate for edits is on. SEEN-07
void set_endpoints(kube::StringMap& endpoints, const kube::ServiceView& service,
                   const Settings& settings) {
  if (settings.cluster_gates.follow_edits) endpoints.clear();
  for (const auto& port : service.ports) {
    if (port.name.empty()) continue;
    if (port.nodePort != 0)
      endpoints[port.name] = std::to_string(port.nodePort);
    else if (!port.targetPort.empty())
      endpoints[port.name] = port.targetPort;
  }
}

// What the status is read from; nothing while that is contradictory.
struct Front {
  const kube::PodView* head = nullptr;  // null: there is none
  const kube::ServiceView* service = nullptr;
};
std::optional<Front> see_front(const RayClusterSeen& seen) {
  if (seen.head_services.size() != 1 || seen.head_services.front()->clusterIP.empty())
    return std::nullopt;
  const auto heads = pods_of_type(seen.pods, ray::kNodeTypeHead);
  if (heads.size() > 1) return std::nullopt;
  return Front{heads.empty() ? nullptr : heads.front().get(), seen.head_services.front().get()};
}

void count_workers(ray::RayClusterStatus& status, const Pods& pods) {
  status.readyWorkerReplicas = count(
      pods, [](const kube::PodView& pod) { return is_running_worker(pod) && pod.is_ready(); });
  status.availableWorkerReplicas = count(pods, is_running_worker);
}

void set_seen(ray::RayClusterStatus& status, const RayClusterSeen& seen, const Front& front,
              const Settings& settings) {
  const auto& [head, service] = front;
  count_workers(status, seen.pods);
  set_endpoints(status.endpoints, *service, settings);
  status.head.podIP = head ? head->podIP : "";
  status.head.podName = head ? head->meta.key.name : "";
  status.head.serviceIP = service->clusterIP == "None" ? status.head.podIP : service->clusterIP;
  status.head.serviceName = service->meta.key.name;
}

void set_wanted(ray::RayClusterStatus& status, const RayClusterSeen& seen,
                const Settings& settings) {
  const auto totals = settings.build.scheduled_resources ? ray::scheduled_resources(seen.spec())
                                                         : ray::desired_resources(seen.spec());
  status.observedGeneration = seen.cluster->meta.generation;
  status.desiredWorkerReplicas = ray::desired_worker_pods(seen.spec());
  status.minWorkerReplicas = ray::min_worker_pods(seen.spec());
  status.maxWorkerReplicas = ray::max_worker_pods(seen.spec());
  status.desiredCPU = ray::amount_of(totals, "cpu");
  status.desiredMemory = ray::amount_of(totals, "memory");
  status.desiredGPU = ray::gpus_of(totals);
  status.desiredTPU = ray::amount_of(totals, "google.com/tpu");
}

bool is_written(const ray::RayClusterStatus& status) { return status.lastUpdateTime.has_value(); }

// Takes what became of the head out of the comparison, when it is that it became ready; when that
// was. Nothing: something else has.
std::optional<Time> forget_readiness(ray::RayClusterStatus& after,
                                     const ray::RayClusterStatus& before,
                                     const kube::PodView& head) {
  if (!head.is_ready() || !head.ready->lastTransitionTime ||
      ray::condition_is_true(before.conditions, kHeadPodReady))
    return std::nullopt;
  after.head = before.head;
  const auto was = std::ranges::find(before.conditions, kHeadPodReady, &ray::Condition::type);
  const auto is = std::ranges::find(after.conditions, kHeadPodReady, &ray::Condition::type);
  if (was == before.conditions.end() || is == after.conditions.end()) return std::nullopt;
  *is = *was;
  return head.ready->lastTransitionTime;
}

// Pods of a cluster that starts become ready one after the other; a status for each would be most
// of the writes. So counts of them, and that the head is ready, wait for the rest for a second at
// most. Later every change is told at once: RayServices copy what is there.
std::optional<Duration> may_wait(const RayClusterSeen& seen, ray::RayClusterStatus after,
                                 Time now) {
  const auto& before = seen.cluster->status;
  if (!is_written(before) || before.state == kReady) return std::nullopt;
  after.readyWorkerReplicas = before.readyWorkerReplicas;
  after.availableWorkerReplicas = before.availableWorkerReplicas;
  Time since = *before.lastUpdateTime;
  for (const auto& head : pods_of_type(seen.pods, ray::kNodeTypeHead))
    if (const auto ready_at = forget_readiness(after, before, *head))
      since = std::max(since, *ready_at);
  if (differs(before, after)) return std::nullopt;
  constexpr Duration kSecond = std::chrono::seconds{1};  // stored times are cut to them
  const Duration wait = since + kSecond - now;
  // More than that: written by somebody whose clock is ahead.
  if (wait <= Duration{} || wait > kSecond) return std::nullopt;
  return wait;
}

StatusDecision finish(const RayClusterSeen& seen, ray::RayClusterStatus status, const Notes& notes,
                      const Settings& settings, Time now) {
  const auto& before = seen.cluster->status;
  if (settings.status_conditions)
    set_notes(status.conditions, notes, seen.cluster->meta.generation, now);
  if (!differs(before, status)) return {};
  if (const auto wait = may_wait(seen, status, now)) return {.look_again = wait};
  // Of a cluster that was never worked on nothing else is known.
  if (!is_written(before) && !see_front(seen)) {
    JsonArray conditions;
    for (const auto& condition : status.conditions)
      conditions.push_back(ray::part_to_json(condition));
    return {.write = Json{{"conditions", std::move(conditions)}}};
  }
  status.lastUpdateTime = now;
  return {.write = ray::part_to_json(status)};
}

std::optional<std::string> decide_state(const RayClusterSeen& seen, const Trouble& trouble,
                                        std::int32_t desired_workers) {
  if (ray::is_true(seen.spec().suspend) && seen.pods.empty()) return std::string(kSuspendedState);
  // Never withdrawn: Pods that fall over later show in the conditions and the counters only.
  const auto pods = expected_pods(seen);
  if (!trouble.any && static_cast<std::int64_t>(pods.size()) == desired_workers + 1 &&
      all_running(pods))
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

StatusDecision decide_status(const RayClusterSeen& seen, const Trouble& trouble, const Notes& notes,
                             const Settings& settings, Time now) {
  auto status = seen.cluster->status;
  if (const auto front = see_front(seen)) {
    set_seen(status, seen, *front, settings);
    set_wanted(status, seen, settings);
    if (auto state = decide_state(seen, trouble, status.desiredWorkerReplicas)) {
      if (*state == kReady) status.reason.clear();
      if (*state != status.state) status.stateTransitionTimes[*state] = now;
      status.state = std::move(*state);
    }
    if (settings.status_conditions)
      update_conditions(status.conditions, seen, front->head, trouble, settings, now);
  } else if (is_written(status) && !several_heads(seen).empty()) {
    count_workers(status, seen.pods);
  }
  return finish(seen, std::move(status), notes, settings, now);
}

StatusDecision decide_status_of_refused(const RayClusterSeen& seen, const Notes& notes,
                                        const Settings& settings, Time now) {
  auto status = seen.cluster->status;
  if (const auto front = see_front(seen); front && is_written(status)) {
    set_seen(status, seen, *front, settings);
    status.observedGeneration = seen.cluster->meta.generation;
    if (settings.status_conditions)
      ray::set_condition(status.conditions, head_condition(front->head), now);
  }
  return finish(seen, std::move(status), notes, settings, now);
}

}  // namespace manta::controllers::raycluster
