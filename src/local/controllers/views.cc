#include "local/controllers/views.h"

#include <algorithm>

namespace manta::local {
namespace {

void add(Resources& total, const Resources& more) {
  for (const auto& [name, amount] : more) total[name] += amount;
}

void raise(Resources& total, const Resources& other) {
  for (const auto& [name, amount] : other) total[name] = std::max(total[name], amount);
}

Resources parse_resources(const JsonObject& object) {
  Resources result;
  for (const auto& [name, value] : object) {
    Result<Quantity> amount = failed(ErrorCode::Invalid, "not a quantity");
    if (value.is_string()) amount = Quantity::parse(value.as_string());
    if (value.is_int64()) amount = Quantity::from_int(value.as_int64());
    // The API server has validated these; one that cannot be read asks for nothing.
    if (amount) result[std::string(name)] = *amount;
  }
  return result;
}

/// Requests, and limits where a resource has no request (the API server defaults it so).
Resources container_requests(const Json& container) {
  auto result = parse_resources(object_at(container, {"resources", "limits"}));
  for (auto& [name, amount] : parse_resources(object_at(container, {"resources", "requests"})))
    result[name] = amount;
  return result;
}

void read_conditions(const Json& pod, PodView& view) {
  for (const auto& condition : array_at(pod, {"status", "conditions"})) {
    const auto type = string_at(condition, {"type"});
    const auto status = string_at(condition, {"status"});
    view.conditions.emplace_back(type, status);
    if (type == "Ready") view.ready = status == "True";
    if (type == "PodScheduled") {
      view.scheduled_reason = string_at(condition, {"reason"});
      view.scheduled_message = string_at(condition, {"message"});
    }
  }
}

void read_containers(const Json& pod, PodView& view) {
  for (const auto* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const auto& status : array_at(pod, {"status", list})) {
      view.restarts += int_at(status, {"restartCount"});
      const auto* ended = find(status, {"state", "terminated"});
      if (ended == nullptr) continue;
      ContainerEnd end{.name = std::string(string_at(status, {"name"})),
                       .exit_code = int_at(*ended, {"exitCode"})};
      if (auto at = parse_rfc3339(string_at(*ended, {"finishedAt"}))) end.finished_at = *at;
      view.ends.push_back(std::move(end));
    }
  }
  for (const auto& container : array_at(pod, {"spec", "containers"}))
    for (const auto& port : array_at(container, {"ports"}))
      if (const auto name = string_at(port, {"name"}); !name.empty())
        view.named_ports.emplace(name, int_at(port, {"containerPort"}));
}

}  // namespace

Resources pod_requests(const Json& pod_spec) {
  Resources running;  // containers and sidecars together
  for (const auto& container : array_at(pod_spec, {"containers"}))
    add(running, container_requests(container));
  Resources sidecars;
  Resources starting;  // the largest step of the init phase
  for (const auto& container : array_at(pod_spec, {"initContainers"})) {
    auto step = container_requests(container);
    if (string_at(container, {"restartPolicy"}) == "Always") {
      add(sidecars, step);
      add(running, step);
      raise(starting, sidecars);
    } else {
      add(step, sidecars);
      raise(starting, step);
    }
  }
  raise(running, starting);
  add(running, parse_resources(object_at(pod_spec, {"overhead"})));
  return running;
}

Result<PodView> project_pod(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  PodView view{.meta = std::move(*meta)};
  view.phase = string_at(object, {"status", "phase"});
  view.node_name = string_at(object, {"spec", "nodeName"});
  view.scheduler_name = string_at(object, {"spec", "schedulerName"});
  view.pod_ip = string_at(object, {"status", "podIP"});
  view.hostname = string_at(object, {"spec", "hostname"});
  view.subdomain = string_at(object, {"spec", "subdomain"});
  view.gated = !array_at(object, {"spec", "schedulingGates"}).empty();
  view.priority = int_at(object, {"spec", "priority"});
  view.restarts_on_failure = string_at(object, {"spec", "restartPolicy"}) == "OnFailure";
  if (const auto* spec = find(object, {"spec"})) view.requests = pod_requests(*spec);
  for (const auto& [key, value] : object_at(object, {"spec", "nodeSelector"}))
    if (value.is_string()) view.node_selector[std::string(key)] = std::string(value.as_string());
  view.node_terms =
      array_at(object, {"spec", "affinity", "nodeAffinity",
                        "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  view.tolerations = array_at(object, {"spec", "tolerations"});
  read_conditions(object, view);
  read_containers(object, view);
  return view;
}

Result<NodeView> project_node(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  NodeView view{.meta = std::move(*meta)};
  view.allocatable = parse_resources(object_at(object, {"status", "allocatable"}));
  view.taints = array_at(object, {"spec", "taints"});
  view.unschedulable = bool_at(object, {"spec", "unschedulable"});
  for (const auto& condition : array_at(object, {"status", "conditions"}))
    if (string_at(condition, {"type"}) == "Ready")
      view.ready = string_at(condition, {"status"}) == "True";
  return view;
}

Result<JobView> project_job(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  return JobView{.meta = std::move(*meta),
                 .spec = object_at(object, {"spec"}),
                 .status = object_at(object, {"status"})};
}

Result<ServiceView> project_service(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  return ServiceView{.meta = std::move(*meta), .spec = object_at(object, {"spec"})};
}

Result<EndpointsView> project_endpoints(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  JsonObject kept;
  for (const auto* field : {"addressType", "endpoints", "ports", "subsets"})
    if (const auto* value = find(object, {field})) kept[field] = *value;
  return EndpointsView{.meta = std::move(*meta), .object = std::move(kept)};
}

Result<NamespaceView> project_namespace(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  return NamespaceView{.meta = std::move(*meta)};
}

Result<PlainView> project_plain(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  return PlainView{.meta = std::move(*meta), .data = object_at(object, {"data"})};
}

bool covers(const Json& have, const Json& wanted) {
  if (wanted.is_object() && have.is_object()) {
    return std::ranges::all_of(wanted.get_object(), [&](const auto& field) {
      const auto* found = have.get_object().if_contains(field.key());
      return found != nullptr && covers(*found, field.value());
    });
  }
  if (wanted.is_array() && have.is_array()) {
    return std::ranges::equal(have.get_array(), wanted.get_array(),
                              [](const Json& h, const Json& w) { return covers(h, w); });
  }
  return have == wanted;
}

}  // namespace manta::local
