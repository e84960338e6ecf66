#include "local/node/status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace manta::local {
namespace {

bool is_ready(const ContainerSpec& spec, const ContainerState& c) {
  if (spec.kind == ContainerKind::Init)
    return c.phase == ContainerPhase::Terminated && c.ending && c.ending->exit_code == 0;
  return c.phase == ContainerPhase::Running && c.started && c.ready;
}

JsonObject ending_json(const Ending& ending) {
  JsonObject json;
  json["exitCode"] = ending.exit_code;
  if (ending.signal != 0 && ending.exit_code != 128 + ending.signal) json["signal"] = ending.signal;
  json["reason"] = ending.reason;
  if (!ending.message.empty()) json["message"] = ending.message;
  json["startedAt"] = format_rfc3339(ending.started);
  json["finishedAt"] = format_rfc3339(ending.finished);
  if (!ending.container_id.empty()) json["containerID"] = ending.container_id;
  return {{"terminated", std::move(json)}};
}

JsonObject state_json(const ContainerSpec& spec, const ContainerState& c, const PodSpec& pod,
                      bool initialized) {
  switch (c.phase) {
    case ContainerPhase::Terminated:
      return ending_json(*c.ending);
    case ContainerPhase::Running:
      return {{"running", JsonObject{{"startedAt", format_rfc3339(c.started_at)}}}};
    case ContainerPhase::Waiting:
    case ContainerPhase::Starting:
      break;
  }
  JsonObject waiting;
  const bool has_init =
      std::ranges::any_of(pod.containers, [](auto& x) { return x.kind != ContainerKind::Main; });
  if (!c.waiting_reason.empty())
    waiting["reason"] = c.waiting_reason;
  else
    waiting["reason"] = has_init && !initialized ? "PodInitializing" : "ContainerCreating";
  if (!c.waiting_message.empty()) waiting["message"] = c.waiting_message;
  return {{"waiting", std::move(waiting)}};
}

JsonObject container_json(const ContainerSpec& spec, const ContainerState& c, const PodSpec& pod,
                          bool initialized) {
  JsonObject json;
  json["name"] = spec.name;
  json["state"] = state_json(spec, c, pod, initialized);
  json["lastState"] = c.last ? ending_json(*c.last) : JsonObject{};
  json["ready"] = is_ready(spec, c);
  json["restartCount"] = c.restart_count;
  json["image"] = spec.image;
  json["imageID"] = c.image_id;
  if (!c.container_id.empty()) json["containerID"] = c.container_id;
  json["started"] = c.phase == ContainerPhase::Running && c.started;
  return json;
}

struct Condition {
  std::string_view type;
  bool status;
  std::string reason = {};
  std::string message = {};
};

JsonArray merge_conditions(const std::vector<Condition>& ours, const Json& previous, Time now) {
  const auto& old = array_at(previous, {"conditions"});
  auto find_old = [&](std::string_view type) -> const Json* {
    for (const auto& c : old)
      if (string_at(c, {"type"}) == type) return &c;
    return nullptr;
  };
  JsonArray all;
  for (const auto& c : ours) {
    const std::string_view status = c.status ? "True" : "False";
    const Json* before = find_old(c.type);
    const bool same = before != nullptr && string_at(*before, {"status"}) == status;
    JsonObject json;
    json["type"] = c.type;
    json["status"] = status;
    json["lastProbeTime"] = nullptr;
    json["lastTransitionTime"] =
        same ? std::string(string_at(*before, {"lastTransitionTime"})) : format_rfc3339(now);
    if (!c.reason.empty()) json["reason"] = c.reason;
    if (!c.message.empty()) json["message"] = c.message;
    all.push_back(std::move(json));
  }
  for (const auto& c : old)
    if (std::ranges::none_of(ours, [&](auto& o) { return o.type == string_at(c, {"type"}); }))
      all.push_back(c);
  return all;
}

/// Readiness gates whose condition is not True.
std::vector<std::string> closed_gates(const PodSpec& spec, const Json& previous) {
  std::vector<std::string> closed;
  for (const auto& gate : array_at(*spec.document, {"spec", "readinessGates"})) {
    const auto type = string_at(gate, {"conditionType"});
    const auto& conditions = array_at(previous, {"conditions"});
    if (std::ranges::none_of(conditions, [&](auto& c) {
          return string_at(c, {"type"}) == type && string_at(c, {"status"}) == "True";
        }))
      closed.emplace_back(type);
  }
  return closed;
}

std::vector<Condition> build_conditions(const PodSpec& spec,
                                        const std::vector<ContainerState>& containers,
                                        const PodFacts& facts, std::string_view phase,
                                        const Json& previous) {
  std::vector<std::string> unready, uninitialized;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const auto& c = spec.containers[i];
    if (c.kind != ContainerKind::Init && !is_ready(c, containers[i])) unready.push_back(c.name);
    const bool through =
        c.kind == ContainerKind::Sidecar ? containers[i].started : is_ready(c, containers[i]);
    if (c.kind != ContainerKind::Main && !through) uninitialized.push_back(c.name);
  }
  const bool over = phase == "Succeeded" || phase == "Failed";
  const std::string end_reason = phase == "Succeeded" ? "PodCompleted" : "PodFailed";

  Condition initialized{"Initialized", facts.initialized || uninitialized.empty()};
  if (initialized.status && phase == "Succeeded") initialized.reason = "PodCompleted";
  if (!initialized.status) {
    initialized.reason = "ContainersNotInitialized";
    initialized.message =
        fmt::format("containers with incomplete status: [{}]", fmt::join(uninitialized, " "));
  }
  Condition containers_ready{"ContainersReady", unready.empty() && !over};
  if (over) {
    containers_ready.reason = end_reason;
  } else if (!unready.empty()) {
    containers_ready.reason = "ContainersNotReady";
    containers_ready.message =
        fmt::format("containers with unready status: [{}]", fmt::join(unready, " "));
  }
  Condition ready = containers_ready;
  ready.type = "Ready";
  if (const auto gates = closed_gates(spec, previous); ready.status && !gates.empty()) {
    ready.status = false;
    ready.reason = "ReadinessGatesNotReady";
    ready.message = fmt::format(
        "corresponding condition of pod readiness gate \"{}\" does not exist or is not True.",
        fmt::join(gates, "\", \""));
  }
  return {{"PodReadyToStartContainers", facts.sandbox_ready && !over},
          std::move(initialized),
          std::move(ready),
          std::move(containers_ready),
          {"PodScheduled", true}};
}

}  // namespace

std::string_view pod_phase(const PodSpec& spec, const std::vector<ContainerState>& containers,
                           const PodFacts& facts) {
  if (!facts.reason.empty()) return "Failed";
  int waiting = 0, running = 0, stopped = 0, succeeded = 0, sidecars_running = 0;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const auto& c = containers[i];
    switch (spec.containers[i].kind) {
      case ContainerKind::Init:
        if (c.phase == ContainerPhase::Terminated && c.ending->exit_code != 0 &&
            !restarts_after(spec, spec.containers[i], c.ending->exit_code))
          return "Failed";
        continue;
      case ContainerKind::Sidecar:
        sidecars_running += c.phase == ContainerPhase::Running;
        continue;
      case ContainerKind::Main:
        break;
    }
    if (c.phase == ContainerPhase::Running) {
      ++running;
    } else if (c.phase == ContainerPhase::Terminated) {
      ++stopped;
      succeeded += c.ending->exit_code == 0;
    } else if (c.last) {
      ++stopped;  // between two instances
    } else {
      ++waiting;
    }
  }
  if (facts.finished && waiting > 0) return "Failed";  // stopped before it could start
  if (!facts.initialized || waiting > 0) return "Pending";
  if (running > 0 || stopped == 0) return "Running";
  if (sidecars_running > 0 && !facts.finished) return "Running";
  if (facts.finished) return succeeded == stopped ? "Succeeded" : "Failed";
  if (spec.restart_policy == RestartPolicy::Always) return "Running";
  if (succeeded == stopped) return "Succeeded";
  return spec.restart_policy == RestartPolicy::Never ? "Failed" : "Running";
}

bool is_pod_ready(const PodSpec& spec, const std::vector<ContainerState>& containers,
                  const PodFacts& facts) {
  const auto phase = pod_phase(spec, containers, facts);
  for (const auto& c : build_conditions(spec, containers, facts, phase, Json{}))
    if (c.type == "Ready") return c.status;
  return false;
}

Json build_pod_status(const PodSpec& spec, const std::vector<ContainerState>& containers,
                      const PodFacts& facts, const Json& previous, Time now) {
  JsonObject status;
  const auto phase = pod_phase(spec, containers, facts);
  status["phase"] = phase;
  if (!facts.reason.empty()) status["reason"] = facts.reason;
  if (!facts.message.empty()) status["message"] = facts.message;
  status["conditions"] =
      merge_conditions(build_conditions(spec, containers, facts, phase, previous), previous, now);
  if (!facts.host_ip.empty()) {
    status["hostIP"] = facts.host_ip;
    status["hostIPs"] = JsonArray{JsonObject{{"ip", facts.host_ip}}};
  }
  if (!facts.pod_ip.empty()) {
    status["podIP"] = facts.pod_ip;
    status["podIPs"] = JsonArray{JsonObject{{"ip", facts.pod_ip}}};
  }
  status["startTime"] = format_rfc3339(facts.started);
  status["qosClass"] = qos_class(spec);
  JsonArray init, main;
  for (std::size_t i = 0; i < containers.size(); ++i)
    (spec.containers[i].kind == ContainerKind::Main ? main : init)
        .push_back(container_json(spec.containers[i], containers[i], spec, facts.initialized));
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  status["containerStatuses"] = std::move(main);
  return status;
}

static Ending parse_ending(const Json& json) {
  Ending e;
  e.exit_code = static_cast<int>(int_at(json, {"exitCode"}));
  e.signal = static_cast<int>(int_at(json, {"signal"}));
  e.reason = string_at(json, {"reason"});
  e.message = string_at(json, {"message"});
  e.started = parse_rfc3339(string_at(json, {"startedAt"})).value_or(Time{});
  e.finished = parse_rfc3339(string_at(json, {"finishedAt"})).value_or(Time{});
  e.container_id = string_at(json, {"containerID"});
  return e;
}

static ContainerState adopt_state(const ContainerSpec& spec, const Json& status, Time now) {
  ContainerState state;
  state.restart_count = static_cast<int>(int_at(status, {"restartCount"}));
  state.image_id = string_at(status, {"imageID"});
  if (const Json* last = find(status, {"lastState", "terminated"}))
    state.last = parse_ending(*last);
  if (const Json* ended = find(status, {"state", "terminated"})) {
    state.phase = ContainerPhase::Terminated;
    state.ending = parse_ending(*ended);
    state.container_id = state.ending->container_id;
  } else if (const Json* running = find(status, {"state", "running"})) {
    Ending ending;
    ending.exit_code = 137;
    ending.reason = "ContainerStatusUnknown";
    ending.message =
        "The container could not be located when the node came back: it ended with the node's last "
        "life";
    ending.started = parse_rfc3339(string_at(*running, {"startedAt"})).value_or(now);
    ending.finished = now;
    ending.container_id = string_at(status, {"containerID"});
    state.phase = ContainerPhase::Terminated;
    state.container_id = ending.container_id;
    state.ending = std::move(ending);
  }
  return state;
}

std::vector<ContainerState> adopt_states(const PodSpec& spec, const Json& status, Time now) {
  std::vector<ContainerState> states;
  for (const auto& c : spec.containers) {
    const auto& list = array_at(
        status, {c.kind == ContainerKind::Main ? "containerStatuses" : "initContainerStatuses"});
    const auto found =
        std::ranges::find_if(list, [&](auto& s) { return string_at(s, {"name"}) == c.name; });
    states.push_back(found == list.end() ? ContainerState{} : adopt_state(c, *found, now));
  }
  return states;
}

}  // namespace manta::local
