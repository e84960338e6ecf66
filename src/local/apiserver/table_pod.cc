// The row of a Pod. Source: Kubernetes pkg/printers printPod.
#include "fmt/format.h"
#include "local/apiserver/table_cells.h"

#include <algorithm>
#include <optional>

namespace manta::local {
namespace {

/// Why a container ended: its reason, else its signal, else its exit code.
std::string end_of(const Json& terminated) {
  if (const auto reason = string_at(terminated, {"reason"}); !reason.empty())
    return std::string(reason);
  if (const auto signal = int_at(terminated, {"signal"})) return fmt::format("Signal:{}", signal);
  return fmt::format("ExitCode:{}", int_at(terminated, {"exitCode"}));
}

bool is_sidecar(const Json& pod, std::string_view name) {
  return std::ranges::any_of(array_at(pod, {"spec", "initContainers"}), [&](const Json& spec) {
    return string_at(spec, {"name"}) == name && string_at(spec, {"restartPolicy"}) == "Always";
  });
}

/// The first init container that is not done, if one is: "Init:1/2", "Init:Error".
std::optional<std::string> init_reason(const Json& pod) {
  const auto& statuses = array_at(pod, {"status", "initContainerStatuses"});
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const auto& status = statuses[i];
    const auto* terminated = find(status, {"state", "terminated"});
    if (terminated && int_at(*terminated, {"exitCode"}) == 0) continue;
    if (is_sidecar(pod, string_at(status, {"name"})) && bool_at(status, {"started"})) continue;
    if (terminated) return "Init:" + end_of(*terminated);
    const auto why = string_at(status, {"state", "waiting", "reason"});
    if (!why.empty() && why != "PodInitializing") return fmt::format("Init:{}", why);
    return fmt::format("Init:{}/{}", i, array_at(pod, {"spec", "initContainers"}).size());
  }
  return std::nullopt;
}

/// What the first container that waits or has ended says; `otherwise` when all run.
std::string container_reason(const Json& pod, std::string otherwise) {
  bool running = false;
  auto reason = std::move(otherwise);
  const auto& statuses = array_at(pod, {"status", "containerStatuses"});
  for (std::size_t i = statuses.size(); i-- > 0;) {
    const auto& status = statuses[i];
    if (const auto why = string_at(status, {"state", "waiting", "reason"}); !why.empty())
      reason = why;
    else if (const auto* terminated = find(status, {"state", "terminated"}))
      reason = end_of(*terminated);
    else if (bool_at(status, {"ready"}) && find(status, {"state", "running"}))
      running = true;
  }
  if (reason == "Completed" && running) return has_condition(pod, "Ready") ? "Running" : "NotReady";
  return reason;
}

/// STATUS as people know it: a container's reason before the phase.
std::string pod_reason(const Json& pod) {
  if (find(pod, {"metadata", "deletionTimestamp"}))
    return string_at(pod, {"status", "reason"}) == "NodeLost" ? "Unknown" : "Terminating";
  if (auto initializing = init_reason(pod)) return std::move(*initializing);
  std::string reason(string_at(pod, {"status", "reason"}));
  if (reason.empty()) reason = string_at(pod, {"status", "phase"});
  for (const auto& condition : array_at(pod, {"status", "conditions"}))
    if (string_at(condition, {"type"}) == "PodScheduled" &&
        string_at(condition, {"reason"}) == "SchedulingGated")
      reason = "SchedulingGated";
  return container_reason(pod, std::move(reason));
}

}  // namespace

JsonArray pod_cells(const Json& pod, Time now) {
  std::int64_t ready = 0, restarts = 0;
  std::size_t total = array_at(pod, {"spec", "containers"}).size();
  std::string last;
  for (const auto& status : array_at(pod, {"status", "containerStatuses"})) {
    if (bool_at(status, {"ready"}) && find(status, {"state", "running"})) ++ready;
    restarts += int_at(status, {"restartCount"});
    last =
        std::max(last, std::string(string_at(status, {"lastState", "terminated", "finishedAt"})));
  }
  for (const auto& spec : array_at(pod, {"spec", "initContainers"})) {
    if (string_at(spec, {"restartPolicy"}) != "Always") continue;
    ++total;
    for (const auto& status : array_at(pod, {"status", "initContainerStatuses"}))
      if (string_at(status, {"name"}) == string_at(spec, {"name"})) {
        restarts += int_at(status, {"restartCount"});
        if (bool_at(status, {"ready"})) ++ready;
      }
  }
  std::string restart_text = std::to_string(restarts);
  if (restarts && !last.empty()) restart_text += fmt::format(" ({} ago)", age_of(last, now));
  return {name_of(pod),
          Json(fmt::format("{}/{}", ready, total)),
          Json(pod_reason(pod)),
          Json(restart_text),
          Json(age(pod, now)),
          Json(text(pod, {"status", "podIP"})),
          Json(text(pod, {"spec", "nodeName"})),
          Json(text(pod, {"status", "nominatedNodeName"})),
          Json("<none>")};
}

}  // namespace manta::local
