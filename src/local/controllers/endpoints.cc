#include "local/controllers/endpoints.h"

#include <algorithm>
#include <optional>

namespace manta::local {
namespace {

using kube::Write;
using kube::WriteKind;
using PodPtr = std::shared_ptr<const PodView>;

/// Pods whose named ports resolve to the same numbers, and those numbers.
struct Group {
  JsonArray ports = {};
  std::vector<PodPtr> pods = {};
};

std::optional<std::int64_t> target_port(const Json& port, const PodView& pod) {
  const auto* target = find(port, {"targetPort"});
  if (target == nullptr) return int_at(port, {"port"});
  if (target->is_string()) {
    const auto found = pod.named_ports.find(std::string_view(target->as_string()));
    if (found == pod.named_ports.end()) return std::nullopt;
    return found->second;
  }
  const auto number = int_at(port, {"targetPort"});
  return number == 0 ? int_at(port, {"port"}) : number;
}

/// The Service's ports as this Pod serves them; a named one that it lacks is left out.
JsonArray ports_of(const ServiceView& service, const PodView& pod) {
  JsonArray ports;
  for (const auto& port : array_at(service.spec, {"ports"})) {
    const auto number = target_port(port, pod);
    if (!number) continue;
    JsonObject out{{"name", string_at(port, {"name"})},
                   {"port", *number},
                   {"protocol", string_at(port, {"protocol"}, "TCP")}};
    if (const auto protocol = string_at(port, {"appProtocol"}); !protocol.empty())
      out["appProtocol"] = protocol;
    ports.emplace_back(std::move(out));
  }
  return ports;
}

std::vector<Group> group_pods(const EndpointsSeen& seen) {
  std::vector<Group> groups;
  for (const auto& pod : seen.pods) {
    if (pod->pod_ip.empty() || pod->finished()) continue;
    auto ports = ports_of(*seen.service, *pod);
    auto group = std::ranges::find(groups, ports, &Group::ports);
    if (group == groups.end()) group = groups.insert(groups.end(), Group{std::move(ports), {}});
    group->pods.push_back(pod);
  }
  return groups;
}

JsonObject target_ref(const PodView& pod) {
  return {{"kind", "Pod"},
          {"namespace", pod.meta.key.namespace_},
          {"name", pod.meta.key.name},
          {"uid", pod.meta.uid}};
}

/// A Pod gets a name of its own only below the headless Service that it names as its subdomain.
bool has_hostname(const ServiceView& service, const PodView& pod) {
  return !pod.hostname.empty() && pod.subdomain == service.meta.key.name;
}

JsonArray build_subsets(const ServiceView& service, const std::vector<Group>& groups) {
  const bool publish_all = bool_at(service.spec, {"publishNotReadyAddresses"});
  JsonArray subsets;
  for (const auto& group : groups) {
    JsonArray ready;
    JsonArray waiting;
    for (const auto& pod : group.pods) {
      if (pod->deleting() && !publish_all) continue;
      JsonObject address{{"ip", pod->pod_ip}};
      if (has_hostname(service, *pod)) address["hostname"] = pod->hostname;
      if (!pod->node_name.empty()) address["nodeName"] = pod->node_name;
      address["targetRef"] = target_ref(*pod);
      (pod->ready || publish_all ? ready : waiting).emplace_back(std::move(address));
    }
    JsonObject subset;
    if (!ready.empty()) subset["addresses"] = std::move(ready);
    if (!waiting.empty()) subset["notReadyAddresses"] = std::move(waiting);
    if (subset.empty()) continue;
    JsonArray ports = group.ports;
    for (auto& port : ports)  // Endpoints leave an empty name out, slices write it
      if (string_at(port, {"name"}).empty()) port.as_object().erase("name");
    if (!ports.empty()) subset["ports"] = std::move(ports);
    subsets.emplace_back(std::move(subset));
  }
  return subsets;
}

JsonObject build_slice(const ServiceView& service, const Group& group) {
  const bool publish_all = bool_at(service.spec, {"publishNotReadyAddresses"});
  JsonArray endpoints;
  for (const auto& pod : group.pods) {
    JsonObject endpoint{
        {"addresses", JsonArray{Json(pod->pod_ip)}},
        {"conditions", JsonObject{{"ready", publish_all || (pod->ready && !pod->deleting())},
                                  {"serving", pod->ready},
                                  {"terminating", pod->deleting()}}}};
    if (has_hostname(service, *pod)) endpoint["hostname"] = pod->hostname;
    if (!pod->node_name.empty()) endpoint["nodeName"] = pod->node_name;
    endpoint["targetRef"] = target_ref(*pod);
    endpoints.emplace_back(std::move(endpoint));
  }
  return {{"addressType", "IPv4"}, {"endpoints", std::move(endpoints)}, {"ports", group.ports}};
}

/// The Service's own labels, as Kubernetes copies them, and those that say whose it is.
JsonObject copied_labels(const ServiceView& service) {
  JsonObject labels;
  for (const auto& [key, value] : service.meta.labels) labels[key] = value;
  if (string_at(service.spec, {"clusterIP"}) == "None")
    labels["service.kubernetes.io/headless"] = "";
  return labels;
}

Write write_endpoints(const EndpointsSeen& seen, JsonArray subsets) {
  const auto& key = seen.service->meta.key;
  auto labels = copied_labels(*seen.service);
  labels["endpoints.kubernetes.io/managed-by"] = "endpoint-controller";
  Write write{.resource = kube::kEndpoints, .key = key, .lane = "endpoints"};
  if (seen.endpoints != nullptr) {
    write.kind = WriteKind::Patch;
    write.body = JsonObject{{"subsets", std::move(subsets)}};
    return write;
  }
  write.body = JsonObject{{"apiVersion", "v1"},
                          {"kind", "Endpoints"},
                          {"metadata", JsonObject{{"name", key.name},
                                                  {"namespace", key.namespace_},
                                                  {"labels", std::move(labels)}}},
                          {"subsets", std::move(subsets)}};
  return write;
}

Write create_slice(const ServiceView& service, JsonObject content) {
  const auto& key = service.meta.key;
  auto labels = copied_labels(service);
  labels["kubernetes.io/service-name"] = key.name;
  labels["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io";
  JsonObject meta{{"generateName", key.name.substr(0, 57) + "-"},
                  {"namespace", key.namespace_},
                  {"labels", std::move(labels)}};
  meta["ownerReferences"] = JsonArray{to_json(kube::OwnerRef{.apiVersion = "v1",
                                                             .kind = "Service",
                                                             .name = key.name,
                                                             .uid = service.meta.uid,
                                                             .controller = true,
                                                             .blockOwnerDeletion = true})};
  JsonObject body{{"apiVersion", "discovery.k8s.io/v1"},
                  {"kind", "EndpointSlice"},
                  {"metadata", std::move(meta)}};
  for (auto& [name, value] : content) body[name] = std::move(value);
  return {.kind = WriteKind::Create,
          .resource = kube::kEndpointSlices,
          .key = {key.namespace_, ""},
          .body = std::move(body),
          .lane = "slices"};
}

Write delete_slice(const EndpointsView& slice) {
  return {.kind = WriteKind::Delete,
          .resource = kube::kEndpointSlices,
          .key = slice.meta.key,
          .precondition_uid = slice.meta.uid,
          .lane = "slices",
          .tolerate = {ErrorCode::NotFound}};
}

void plan_slices(const EndpointsSeen& seen, const std::vector<Group>& groups, kube::Stage& stage) {
  std::vector<JsonObject> wanted;
  wanted.reserve(groups.size());
  for (const auto& group : groups) wanted.push_back(build_slice(*seen.service, group));
  // A Service without Pods keeps one empty slice, so that watchers see that there are none.
  if (wanted.empty()) wanted.push_back(build_slice(*seen.service, Group{}));
  for (std::size_t i = 0; i < std::max(wanted.size(), seen.slices.size()); ++i) {
    if (i >= seen.slices.size()) {
      stage.push_back(create_slice(*seen.service, std::move(wanted[i])));
    } else if (i >= wanted.size()) {
      stage.push_back(delete_slice(*seen.slices[i]));
    } else if (!covers(seen.slices[i]->object, wanted[i])) {
      Write write{.kind = WriteKind::Patch,
                  .resource = kube::kEndpointSlices,
                  .key = seen.slices[i]->meta.key,
                  .body = std::move(wanted[i]),
                  .lane = "slices"};
      write.body.as_object().erase("addressType");  // immutable
      stage.push_back(std::move(write));
    }
  }
}

}  // namespace

kube::Plan plan_endpoints(const EndpointsSeen& seen, const kube::PlanContext&) {
  kube::Plan plan;
  kube::Stage stage;
  if (seen.service == nullptr) {
    // Endpoints carry no owner; the controller that made them takes them away.
    const bool ours =
        seen.endpoints != nullptr &&
        seen.endpoints->meta.label("endpoints.kubernetes.io/managed-by") == "endpoint-controller";
    if (ours)
      plan.stages.push_back({{.kind = WriteKind::Delete,
                              .resource = kube::kEndpoints,
                              .key = seen.endpoints->meta.key,
                              .precondition_uid = seen.endpoints->meta.uid,
                              .tolerate = {ErrorCode::NotFound}}});
    return plan;
  }
  const auto& service = *seen.service;
  if (service.meta.deleting || object_at(service.spec, {"selector"}).empty() ||
      string_at(service.spec, {"type"}) == "ExternalName")
    return plan;
  const auto groups = group_pods(seen);
  auto subsets = build_subsets(service, groups);
  const bool current =
      seen.endpoints != nullptr && covers(array_at(seen.endpoints->object, {"subsets"}), subsets);
  if (!current) stage.push_back(write_endpoints(seen, std::move(subsets)));
  plan_slices(seen, groups, stage);
  if (!stage.empty()) plan.stages.push_back(std::move(stage));
  return plan;
}

}  // namespace manta::local
