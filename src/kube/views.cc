#include "kube/views.h"

#include "base/excerpt.h"
#include "base/hash.h"

#include <algorithm>
#include <limits>

namespace manta::kube {
namespace {

std::string text_at(const Json& value, std::initializer_list<std::string_view> path) {
  return std::string(string_at(value, path));
}

std::int32_t int32_at(const Json& value, std::initializer_list<std::string_view> path) {
  const auto wide = int_at(value, path);
  if (wide > std::numeric_limits<std::int32_t>::max())
    return std::numeric_limits<std::int32_t>::max();
  if (wide < std::numeric_limits<std::int32_t>::min())
    return std::numeric_limits<std::int32_t>::min();
  return static_cast<std::int32_t>(wide);
}

PodPhase parse_phase(std::string_view text) {
  for (auto phase : {PodPhase::Pending, PodPhase::Running, PodPhase::Succeeded, PodPhase::Failed,
                     PodPhase::Unknown})
    if (text == to_string(phase)) return phase;
  return PodPhase::None;
}

RestartPolicy parse_restart_policy(std::string_view text) {
  if (text == "Never") return RestartPolicy::Never;
  if (text == "OnFailure") return RestartPolicy::OnFailure;
  return RestartPolicy::Always;  // the API server's default
}

std::shared_ptr<const TerminatedState> parse_terminated(const Json* state) {
  if (!state || !state->is_object()) return nullptr;
  return std::make_shared<TerminatedState>(TerminatedState{
      .exitCode = int32_at(*state, {"exitCode"}),
      .signal = int32_at(*state, {"signal"}),
      .reason = text_at(*state, {"reason"}),
      .message = text_at(*state, {"message"}),
      .startedAt = text_at(*state, {"startedAt"}),
      .finishedAt = text_at(*state, {"finishedAt"}),
      .containerID = text_at(*state, {"containerID"}),
  });
}

std::shared_ptr<const WaitingState> parse_waiting(const Json* state) {
  if (!state || !state->is_object()) return nullptr;
  return std::make_shared<WaitingState>(
      WaitingState{.reason = text_at(*state, {"reason"}), .message = text_at(*state, {"message"})});
}

ContainerStatusView parse_container_status(const Json& status) {
  return {
      .name = text_at(status, {"name"}),
      .restartCount = int32_at(status, {"restartCount"}),
      .waiting = parse_waiting(find(status, {"state", "waiting"})),
      .terminated = parse_terminated(find(status, {"state", "terminated"})),
      .last_terminated = parse_terminated(find(status, {"lastState", "terminated"})),
  };
}

// "<reason>: <message>", or the one of them that is there.
std::string said(std::string_view reason, std::string_view message) {
  std::string text(reason);
  if (!text.empty() && !message.empty()) text += ": ";
  return text.append(message);
}

// Of a back-off one wants to know what it is for: "; before: exit code 137 (OOMKilled)".
std::string last_end(const Json& status) {
  const auto code = int_at(status, {"lastState", "terminated", "exitCode"});
  if (code == 0) return {};
  const auto reason = string_at(status, {"lastState", "terminated", "reason"});
  std::string text = "; before: exit code " + std::to_string(code);
  if (!reason.empty()) text.append(" (").append(reason).append(")");
  return text;
}

std::string trouble_of_container(const Json& status, std::string_view kind) {
  const auto name = string_at(status, {"name"});
  const auto titled = [&](std::string_view what) {
    return std::string(kind).append(" ").append(name).append(what);
  };
  const auto reason = string_at(status, {"state", "waiting", "reason"});
  if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing")
    return titled(" is waiting: ") +
           said(reason, string_at(status, {"state", "waiting", "message"})) + last_end(status);
  const auto code = int_at(status, {"state", "terminated", "exitCode"});
  if (code == 0) return {};
  return titled(" exited with code ") + std::to_string(code) + ": " +
         said(string_at(status, {"state", "terminated", "reason"}),
              string_at(status, {"state", "terminated", "message"}));
}

std::string trouble_of(const Json& pod) {
  for (const auto& condition : array_at(pod, {"status", "conditions"}))
    if (string_at(condition, {"type"}) == "PodScheduled" &&
        string_at(condition, {"status"}) == "False" &&
        string_at(condition, {"reason"}) == "Unschedulable")
      return said("Unschedulable", string_at(condition, {"message"}));
  for (const auto& status : array_at(pod, {"status", "initContainerStatuses"}))
    if (auto text = trouble_of_container(status, "init container"); !text.empty()) return text;
  for (const auto& status : array_at(pod, {"status", "containerStatuses"}))
    if (auto text = trouble_of_container(status, "container"); !text.empty()) return text;
  if (string_at(pod, {"status", "phase"}) != "Failed") return {};
  return said(string_at(pod, {"status", "reason"}), string_at(pod, {"status", "message"}));
}

StringMap string_map_at(const Json& value, std::initializer_list<std::string_view> path) {
  StringMap out;
  for (const auto& entry : object_at(value, path))
    if (entry.value().is_string())
      out.emplace(std::string(entry.key()), std::string(entry.value().get_string()));
  return out;
}

}  // namespace

std::string_view to_string(PodPhase phase) {
  switch (phase) {
    case PodPhase::None:
      return "";
    case PodPhase::Pending:
      return "Pending";
    case PodPhase::Running:
      return "Running";
    case PodPhase::Succeeded:
      return "Succeeded";
    case PodPhase::Failed:
      return "Failed";
    case PodPhase::Unknown:
      return "Unknown";
  }
  std::unreachable();
}

std::string_view to_string(RestartPolicy policy) {
  switch (policy) {
    case RestartPolicy::Always:
      return "Always";
    case RestartPolicy::OnFailure:
      return "OnFailure";
    case RestartPolicy::Never:
      return "Never";
  }
  std::unreachable();
}

const ContainerStatusView* PodView::container(std::string_view name) const {
  const auto found = std::ranges::find(containerStatuses, name, &ContainerStatusView::name);
  return found == containerStatuses.end() ? nullptr : &*found;
}

std::vector<ConditionView> parse_conditions(const Json& status) {
  std::vector<ConditionView> out;
  for (const auto& item : array_at(status, {"conditions"})) {
    ConditionView condition{
        .type = text_at(item, {"type"}),
        .status = text_at(item, {"status"}),
        .reason = text_at(item, {"reason"}),
        .message = text_at(item, {"message"}),
    };
    if (auto time = parse_rfc3339(string_at(item, {"lastTransitionTime"})))
      condition.lastTransitionTime = *time;
    out.push_back(std::move(condition));
  }
  return out;
}

Result<PodView> project_pod(const Json& object) {
  auto meta = parse_meta(object, KeepAnnotations::Yes);
  if (!meta) return std::unexpected(std::move(meta.error()));
  PodView pod{
      .meta = std::move(*meta),
      .phase = parse_phase(string_at(object, {"status", "phase"})),
      .restartPolicy = parse_restart_policy(string_at(object, {"spec", "restartPolicy"})),
      .podIP = text_at(object, {"status", "podIP"}),
      .nodeName = text_at(object, {"spec", "nodeName"}),
  };
  if (const auto& containers = array_at(object, {"spec", "containers"}); !containers.empty())
    pod.first_container = text_at(containers.front(), {"name"});
  if (const auto* status = find(object, {"status"}))
    for (auto& condition : parse_conditions(*status))
      if (condition.type == "Ready") pod.ready = std::move(condition);
  for (const auto& status : array_at(object, {"status", "containerStatuses"}))
    pod.containerStatuses.push_back(parse_container_status(status));
  if (auto trouble = trouble_of(object); !trouble.empty()) {
    constexpr std::size_t kLongest = 512;
    pod.trouble = std::make_shared<const std::string>(excerpt(trouble, kLongest));
  }
  return pod;
}

Result<ServiceView> project_service(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(std::move(meta.error()));
  ServiceView service{
      .meta = std::move(*meta),
      .type = text_at(object, {"spec", "type"}),
      .clusterIP = text_at(object, {"spec", "clusterIP"}),
      .loadBalancerClass = text_at(object, {"spec", "loadBalancerClass"}),
      .selector = string_map_at(object, {"spec", "selector"}),
  };
  for (const auto& item : array_at(object, {"spec", "ports"})) {
    ServicePortView port{
        .name = text_at(item, {"name"}),
        .port = int32_at(item, {"port"}),
        .nodePort = int32_at(item, {"nodePort"}),
        .targetPort = text_at(item, {"targetPort"}),
    };
    if (const auto number = int32_at(item, {"targetPort"}))
      port.targetPort = std::to_string(number);
    service.ports.push_back(std::move(port));
  }
  return service;
}

const ConditionView* JobView::true_condition(std::string_view type) const {
  for (const auto& condition : conditions)
    if (condition.type == type && condition.status == "True") return &condition;
  return nullptr;
}

Result<JobView> project_job(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(std::move(meta.error()));
  JobView job{.meta = std::move(*meta)};
  if (const auto* status = find(object, {"status"})) job.conditions = parse_conditions(*status);
  return job;
}

bool SecretView::has(std::string_view key) const {
  return std::ranges::find(keys, key) != keys.end();
}

Result<SecretView> project_secret(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(std::move(meta.error()));
  SecretView secret{.meta = std::move(*meta)};
  for (const auto& entry : object_at(object, {"data"})) {
    secret.keys.emplace_back(entry.key());
    if (entry.key() == "auth_token" && entry.value().is_string())
      if (auto token = base64_decode(entry.value().get_string()))
        secret.auth_token = std::move(*token);
  }
  return secret;
}

Result<MetaView> project_meta(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(std::move(meta.error()));
  return MetaView{.meta = std::move(*meta)};
}

Result<SpecView> project_spec(const Json& object) {
  auto meta = parse_meta(object, KeepAnnotations::Yes);
  if (!meta) return std::unexpected(std::move(meta.error()));
  SpecView view{.meta = std::move(*meta)};
  if (const auto* spec = find(object, {"spec"})) view.spec = *spec;
  if (const auto* status = find(object, {"status"})) view.status = *status;
  return view;
}

}  // namespace manta::kube
