#include "local/node/pod_spec.h"

#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::local {
namespace {

std::vector<std::string> strings_at(const Json& value,
                                    std::initializer_list<std::string_view> path) {
  std::vector<std::string> words;
  for (const auto& item : array_at(value, path))
    if (item.is_string()) words.emplace_back(std::string_view(item.as_string()));
  return words;
}

/// A port by number or by the name of a container port.
Result<int> port_at(const Json& action, const Json& container, std::string_view field) {
  const Json* port = find(action, {"port"});
  if (port == nullptr) return failed(ErrorCode::Invalid, fmt::format("{}.port is missing", field));
  if (port->is_int64()) return static_cast<int>(port->as_int64());
  if (port->is_string()) {
    const std::string_view name(port->as_string());
    for (const auto& declared : array_at(container, {"ports"}))
      if (string_at(declared, {"name"}) == name)
        return static_cast<int>(int_at(declared, {"containerPort"}));
    return failed(ErrorCode::Invalid,
                  fmt::format("{}.port: the container has no port named \"{}\"", field, name));
  }
  return failed(ErrorCode::Invalid,
                fmt::format("{}.port must be a number or a port's name", field));
}

Result<Handler> parse_handler(const Json& value, const Json& container, std::string_view field) {
  Handler handler;
  if (find(value, {"exec"}) != nullptr) {
    handler.kind = Handler::Kind::Exec;
    handler.command = strings_at(value, {"exec", "command"});
  } else if (const Json* http = find(value, {"httpGet"})) {
    handler.kind = Handler::Kind::Http;
    handler.host = string_at(*http, {"host"});
    handler.path = string_at(*http, {"path"}, "/");
    if (!handler.path.starts_with("/")) handler.path.insert(0, "/");
    handler.https = string_at(*http, {"scheme"}) == "HTTPS";
    for (const auto& header : array_at(*http, {"httpHeaders"}))
      handler.headers.emplace_back(string_at(header, {"name"}), string_at(header, {"value"}));
    auto port = port_at(*http, container, field);
    if (!port) return failed(port.error());
    handler.port = *port;
  } else if (const Json* tcp = find(value, {"tcpSocket"})) {
    handler.kind = Handler::Kind::Tcp;
    handler.host = string_at(*tcp, {"host"});
    auto port = port_at(*tcp, container, field);
    if (!port) return failed(port.error());
    handler.port = *port;
  } else if (find(value, {"grpc"}) != nullptr) {
    handler.kind = Handler::Kind::Grpc;
  } else if (find(value, {"sleep"}) != nullptr) {
    handler.kind = Handler::Kind::Sleep;
    handler.sleep_seconds = int_at(value, {"sleep", "seconds"});
  }
  return handler;
}

Result<std::optional<ProbeSpec>> parse_probe(const Json& container, std::string_view name) {
  const Json* value = find(container, {name});
  if (value == nullptr || !value->is_object()) return std::optional<ProbeSpec>{};
  auto handler = parse_handler(*value, container, name);
  if (!handler) return failed(handler.error());
  ProbeSpec probe;
  probe.handler = std::move(*handler);
  auto seconds = [&](std::string_view key, std::int64_t fallback) {
    const auto given = int_at(*value, {key}, 0);
    return std::chrono::seconds{given > 0 ? given : fallback};
  };
  probe.initial_delay = seconds("initialDelaySeconds", 0);
  probe.timeout = seconds("timeoutSeconds", 1);
  probe.period = seconds("periodSeconds", 10);
  probe.success_threshold =
      static_cast<int>(std::max<std::int64_t>(1, int_at(*value, {"successThreshold"}, 1)));
  probe.failure_threshold =
      static_cast<int>(std::max<std::int64_t>(1, int_at(*value, {"failureThreshold"}, 3)));
  if (find(*value, {"terminationGracePeriodSeconds"}) != nullptr)
    probe.termination_grace_seconds = int_at(*value, {"terminationGracePeriodSeconds"});
  return std::optional<ProbeSpec>(std::move(probe));
}

Result<std::optional<std::int64_t>> quantity_at(const Json& container, std::string_view list,
                                                std::string_view resource, bool milli) {
  const Json* value = find(container, {"resources", list, resource});
  if (value == nullptr) return std::optional<std::int64_t>{};
  const auto text = value->is_string() ? std::string(value->as_string()) : dump_json(*value);
  auto quantity = Quantity::parse(text);
  if (!quantity) return failed(quantity.error().in(fmt::format("resources.{}.{}", list, resource)));
  return std::optional(milli ? quantity->milli_value() : quantity->value());
}

Result<Resources> parse_resources(const Json& container) {
  Resources r;
  struct Row {
    std::optional<std::int64_t>* to;
    std::string_view list, resource;
    bool milli;
  };
  for (const auto& row : {Row{&r.cpu_request_milli, "requests", "cpu", true},
                          Row{&r.cpu_limit_milli, "limits", "cpu", true},
                          Row{&r.memory_request, "requests", "memory", false},
                          Row{&r.memory_limit, "limits", "memory", false}}) {
    auto value = quantity_at(container, row.list, row.resource, row.milli);
    if (!value) return failed(value.error());
    *row.to = *value;
  }
  if (!r.cpu_request_milli) r.cpu_request_milli = r.cpu_limit_milli;
  if (!r.memory_request) r.memory_request = r.memory_limit;
  return r;
}

Result<ContainerSpec> parse_container(const Json& value, bool init) {
  ContainerSpec c;
  c.document = &value;
  c.name = string_at(value, {"name"});
  c.image = string_at(value, {"image"});
  c.kind = !init                                             ? ContainerKind::Main
           : string_at(value, {"restartPolicy"}) == "Always" ? ContainerKind::Sidecar
                                                             : ContainerKind::Init;
  c.command = strings_at(value, {"command"});
  c.args = strings_at(value, {"args"});
  c.working_dir = string_at(value, {"workingDir"});
  c.pull_policy = string_at(value, {"imagePullPolicy"});
  c.termination_path = string_at(value, {"terminationMessagePath"}, "/dev/termination-log");
  c.message_from_logs = string_at(value, {"terminationMessagePolicy"}) == "FallbackToLogsOnError";
  c.tty = bool_at(value, {"tty"});
  auto resources = parse_resources(value);
  if (!resources) return failed(resources.error());
  c.resources = *resources;
  struct Row {
    std::optional<ProbeSpec>* to;
    std::string_view name;
  };
  for (const auto& row : {Row{&c.startup, "startupProbe"}, Row{&c.liveness, "livenessProbe"},
                          Row{&c.readiness, "readinessProbe"}}) {
    auto probe = parse_probe(value, row.name);
    if (!probe) return failed(probe.error());
    *row.to = std::move(*probe);
  }
  if (const Json* hook = find(value, {"lifecycle", "postStart"})) {
    auto handler = parse_handler(*hook, value, "lifecycle.postStart");
    if (!handler) return failed(handler.error());
    c.post_start = std::move(*handler);
  }
  if (const Json* hook = find(value, {"lifecycle", "preStop"})) {
    auto handler = parse_handler(*hook, value, "lifecycle.preStop");
    if (!handler) return failed(handler.error());
    c.pre_stop = std::move(*handler);
  }
  return c;
}

}  // namespace

const ContainerSpec* PodSpec::container(std::string_view name) const {
  for (const auto& c : containers)
    if (c.name == name) return &c;
  return nullptr;
}

Result<PodSpec> parse_pod(std::shared_ptr<const Json> document) {
  PodSpec pod;
  pod.document = std::move(document);
  const Json& doc = *pod.document;
  auto meta = kube::parse_meta(doc, kube::KeepAnnotations::Yes);
  if (!meta) return failed(meta.error());
  pod.meta = std::move(*meta);
  const auto policy = string_at(doc, {"spec", "restartPolicy"}, "Always");
  pod.restart_policy = policy == "Never"       ? RestartPolicy::Never
                       : policy == "OnFailure" ? RestartPolicy::OnFailure
                                               : RestartPolicy::Always;
  pod.grace_seconds =
      std::max<std::int64_t>(0, int_at(doc, {"spec", "terminationGracePeriodSeconds"}, 30));
  if (find(doc, {"spec", "activeDeadlineSeconds"}) != nullptr)
    pod.active_deadline_seconds = int_at(doc, {"spec", "activeDeadlineSeconds"});
  pod.host_network = bool_at(doc, {"spec", "hostNetwork"});
  pod.host_pid = bool_at(doc, {"spec", "hostPID"});
  pod.hostname = string_at(doc, {"spec", "hostname"});
  if (pod.hostname.empty()) pod.hostname = pod.meta.key.name;
  pod.hostname.resize(std::min<std::size_t>(pod.hostname.size(), 63));
  while (pod.hostname.ends_with('-') || pod.hostname.ends_with('.')) pod.hostname.pop_back();
  pod.subdomain = string_at(doc, {"spec", "subdomain"});
  pod.service_account = string_at(doc, {"spec", "serviceAccountName"}, "default");
  pod.node_name = string_at(doc, {"spec", "nodeName"});
  for (const bool init : {true, false})
    for (const auto& value : array_at(doc, {"spec", init ? "initContainers" : "containers"})) {
      auto container = parse_container(value, init);
      if (!container)
        return failed(
            container.error().in(fmt::format("container \"{}\"", string_at(value, {"name"}))));
      pod.containers.push_back(std::move(*container));
    }
  return pod;
}

std::string_view qos_class(const PodSpec& pod) {
  bool any = false;
  bool guaranteed = true;
  for (const auto& c : pod.containers) {
    const auto& r = c.resources;
    if (r.cpu_request_milli || r.cpu_limit_milli || r.memory_request || r.memory_limit) any = true;
    if (!r.cpu_limit_milli || !r.memory_limit || r.cpu_request_milli != r.cpu_limit_milli ||
        r.memory_request != r.memory_limit)
      guaranteed = false;
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

int oom_score_adj(const PodSpec& pod, const ContainerSpec& container, std::int64_t node_memory) {
  const auto qos = qos_class(pod);
  if (qos == "Guaranteed") return -997;
  if (qos == "BestEffort" || node_memory <= 0) return 1000;
  const auto request = container.resources.memory_request.value_or(0);
  const auto share = static_cast<std::int64_t>(1000.0 * static_cast<double>(request) /
                                               static_cast<double>(node_memory));
  return static_cast<int>(std::clamp<std::int64_t>(1000 - share, 3, 999));
}

bool restarts_after(const PodSpec& pod, const ContainerSpec& container, int exit_code) {
  switch (container.kind) {
    case ContainerKind::Sidecar:
      return true;
    case ContainerKind::Init:
      return exit_code != 0 && pod.restart_policy != RestartPolicy::Never;
    case ContainerKind::Main:
      break;
  }
  return pod.restart_policy == RestartPolicy::Always ||
         (pod.restart_policy == RestartPolicy::OnFailure && exit_code != 0);
}

}  // namespace manta::local
