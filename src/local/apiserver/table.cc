#include "local/apiserver/table.h"

#include "fmt/format.h"
#include "kube/object.h"
#include "local/apiserver/crd.h"

#include <algorithm>

namespace manta::local {
namespace {

struct Column {
  std::string name;
  std::string type = "string";
  std::string format = "";
  std::int64_t priority = 0;
  std::string description = "";
};
struct Layout {
  std::vector<Column> columns;
  JsonArray (*cells)(const Json& object, Time now);
};

std::string text(const Json& object, std::initializer_list<std::string_view> path,
                 std::string_view none = "<none>") {
  const auto value = string_at(object, path);
  return std::string(value.empty() ? none : value);
}

std::string age_of(std::string_view stamp, Time now) {
  auto time = parse_rfc3339(stamp);
  return time ? human_duration(now - *time) : "<unknown>";
}
std::string age(const Json& object, Time now) {
  return age_of(string_at(object, {"metadata", "creationTimestamp"}), now);
}

std::string join(const std::vector<std::string>& texts, std::string_view separator = ",") {
  std::string joined;
  for (const auto& one : texts) joined += (joined.empty() ? "" : std::string(separator)) + one;
  return joined;
}

std::string selector(const Json& object, std::initializer_list<std::string_view> path) {
  const auto* value = find(object, path);
  if (!value) return "<none>";
  if (find(*value, {"matchLabels"}) || find(*value, {"matchExpressions"})) {
    auto parsed = kube::LabelSelector::from_json(*value);
    if (!parsed || parsed->empty()) return "<none>";
    return parsed->to_string();
  }
  std::vector<std::string> terms;
  if (value->is_object())
    for (const auto& [key, member] : value->get_object())
      if (member.is_string())
        terms.push_back(
            fmt::format("{}={}", std::string_view(key), std::string_view(member.get_string())));
  std::ranges::sort(terms);
  return terms.empty() ? "<none>" : join(terms);
}

std::pair<std::string, std::string> containers(const Json& object,
                                               std::initializer_list<std::string_view> path) {
  std::vector<std::string> names, images;
  for (const auto& container : array_at(object, path)) {
    names.emplace_back(string_at(container, {"name"}));
    images.emplace_back(string_at(container, {"image"}));
  }
  return {join(names), join(images)};
}

Json name_of(const Json& object) { return Json(string_at(object, {"metadata", "name"})); }

/// STATUS as people know it: a container's reason before the phase. Source: printers printPod.
std::string pod_reason(const Json& pod) {
  std::string reason(string_at(pod, {"status", "phase"}));
  if (const auto own = string_at(pod, {"status", "reason"}); !own.empty()) reason = own;
  for (const auto& condition : array_at(pod, {"status", "conditions"}))
    if (string_at(condition, {"type"}) == "PodScheduled" &&
        string_at(condition, {"reason"}) == "SchedulingGated")
      reason = "SchedulingGated";
  const auto& init_specs = array_at(pod, {"spec", "initContainers"});
  const auto& init = array_at(pod, {"status", "initContainerStatuses"});
  auto is_sidecar = [&](std::string_view name) {
    return std::ranges::any_of(init_specs, [&](const Json& spec) {
      return string_at(spec, {"name"}) == name && string_at(spec, {"restartPolicy"}) == "Always";
    });
  };
  bool initializing = false;
  for (std::size_t i = 0; i < init.size(); ++i) {
    const auto* terminated = find(init[i], {"state", "terminated"});
    if (terminated && int_at(*terminated, {"exitCode"}) == 0) continue;
    if (is_sidecar(string_at(init[i], {"name"})) && bool_at(init[i], {"started"})) continue;
    if (terminated) {
      const auto why = string_at(*terminated, {"reason"});
      reason = !why.empty() ? fmt::format("Init:{}", why)
               : int_at(*terminated, {"signal"})
                   ? fmt::format("Init:Signal:{}", int_at(*terminated, {"signal"}))
                   : fmt::format("Init:ExitCode:{}", int_at(*terminated, {"exitCode"}));
    } else if (const auto why = string_at(init[i], {"state", "waiting", "reason"});
               !why.empty() && why != "PodInitializing") {
      reason = fmt::format("Init:{}", why);
    } else {
      reason = fmt::format("Init:{}/{}", i, init_specs.size());
    }
    initializing = true;
    break;
  }
  if (!initializing) {
    bool running = false;
    const auto& statuses = array_at(pod, {"status", "containerStatuses"});
    for (std::size_t i = statuses.size(); i-- > 0;) {
      const auto& status = statuses[i];
      if (const auto why = string_at(status, {"state", "waiting", "reason"}); !why.empty())
        reason = why;
      else if (const auto* ended = find(status, {"state", "terminated"})) {
        const auto cause = string_at(*ended, {"reason"});
        reason = !cause.empty() ? std::string(cause)
                 : int_at(*ended, {"signal"})
                     ? fmt::format("Signal:{}", int_at(*ended, {"signal"}))
                     : fmt::format("ExitCode:{}", int_at(*ended, {"exitCode"}));
      } else if (bool_at(status, {"ready"}) && find(status, {"state", "running"})) {
        running = true;
      }
    }
    if (reason == "Completed" && running) {
      const auto& conditions = array_at(pod, {"status", "conditions"});
      const bool ready = std::ranges::any_of(conditions, [](const Json& condition) {
        return string_at(condition, {"type"}) == "Ready" &&
               string_at(condition, {"status"}) == "True";
      });
      reason = ready ? "Running" : "NotReady";
    }
  }
  if (find(pod, {"metadata", "deletionTimestamp"}))
    reason = string_at(pod, {"status", "reason"}) == "NodeLost" ? "Unknown" : "Terminating";
  return reason;
}

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

JsonArray service_cells(const Json& service, Time now) {
  std::vector<std::string> ports, external;
  for (const auto& port : array_at(service, {"spec", "ports"})) {
    auto one = std::to_string(int_at(port, {"port"}));
    if (const auto node = int_at(port, {"nodePort"})) one += fmt::format(":{}", node);
    ports.push_back(one + "/" + std::string(string_at(port, {"protocol"})));
  }
  const auto type = string_at(service, {"spec", "type"});
  for (const auto& entry : array_at(service, {"status", "loadBalancer", "ingress"}))
    external.emplace_back(string_at(entry, {"ip"}, string_at(entry, {"hostname"})));
  for (const auto& ip : array_at(service, {"spec", "externalIPs"}))
    if (ip.is_string()) external.emplace_back(ip.get_string());
  std::string outside =
      external.empty() ? (type == "LoadBalancer" ? "<pending>" : "<none>") : join(external);
  if (type == "ExternalName") outside = string_at(service, {"spec", "externalName"});
  return {name_of(service),
          Json(type),
          Json(text(service, {"spec", "clusterIP"})),
          Json(outside),
          Json(ports.empty() ? "<none>" : join(ports)),
          Json(age(service, now)),
          Json(selector(service, {"spec", "selector"}))};
}

bool has_condition(const Json& object, std::string_view type) {
  return std::ranges::any_of(
      array_at(object, {"status", "conditions"}), [&](const Json& condition) {
        return string_at(condition, {"type"}) == type && string_at(condition, {"status"}) == "True";
      });
}

JsonArray job_cells(const Json& job, Time now) {
  const auto* completions = find(job, {"spec", "completions"});
  const auto done = int_at(job, {"status", "succeeded"});
  std::string completion;
  if (completions && completions->is_int64())
    completion = fmt::format("{}/{}", done, completions->get_int64());
  else {
    const auto parallel = int_at(job, {"spec", "parallelism"});
    completion =
        parallel > 1 ? fmt::format("{}/1 of {}", done, parallel) : fmt::format("{}/1", done);
  }
  std::string duration;
  if (auto start = parse_rfc3339(string_at(job, {"status", "startTime"}))) {
    auto end = parse_rfc3339(string_at(job, {"status", "completionTime"}));
    duration = human_duration((end ? *end : now) - *start);
  }
  const auto status = has_condition(job, "Complete")                 ? "Complete"
                      : has_condition(job, "Failed")                 ? "Failed"
                      : find(job, {"metadata", "deletionTimestamp"}) ? "Terminating"
                      : has_condition(job, "Suspended")              ? "Suspended"
                      : has_condition(job, "FailureTarget")          ? "FailureTarget"
                      : has_condition(job, "SuccessCriteriaMet")     ? "SuccessCriteriaMet"
                                                                     : "Running";
  const auto [names, images] = containers(job, {"spec", "template", "spec", "containers"});
  return {name_of(job),        Json(status),
          Json(completion),    Json(duration),
          Json(age(job, now)), Json(names),
          Json(images),        Json(selector(job, {"spec", "selector"}))};
}

JsonArray namespace_cells(const Json& object, Time now) {
  return {name_of(object), Json(string_at(object, {"status", "phase"})), Json(age(object, now))};
}

JsonArray node_cells(const Json& node, Time now) {
  std::string status = "Unknown";
  for (const auto& condition : array_at(node, {"status", "conditions"}))
    if (string_at(condition, {"type"}) == "Ready")
      status = string_at(condition, {"status"}) == "True" ? "Ready" : "NotReady";
  if (bool_at(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  std::vector<std::string> roles;
  for (const auto& [key, value] : object_at(node, {"metadata", "labels"}))
    if (std::string_view(key).starts_with("node-role.kubernetes.io/"))
      roles.emplace_back(std::string_view(key).substr(24));
  auto address = [&](std::string_view type) {
    for (const auto& entry : array_at(node, {"status", "addresses"}))
      if (string_at(entry, {"type"}) == type) return std::string(string_at(entry, {"address"}));
    return std::string("<none>");
  };
  return {name_of(node),
          Json(status),
          Json(roles.empty() ? "<none>" : join(roles)),
          Json(age(node, now)),
          Json(string_at(node, {"status", "nodeInfo", "kubeletVersion"})),
          Json(address("InternalIP")),
          Json(address("ExternalIP")),
          Json(text(node, {"status", "nodeInfo", "osImage"}, "<unknown>")),
          Json(text(node, {"status", "nodeInfo", "kernelVersion"}, "<unknown>")),
          Json(text(node, {"status", "nodeInfo", "containerRuntimeVersion"}, "<unknown>"))};
}

JsonArray event_cells(const Json& event, Time now) {
  // Either view of the object.
  const bool core = find(event, {"involvedObject"}) != nullptr;
  const std::string_view about = core ? "involvedObject" : "regarding";
  auto stamp = [&](std::initializer_list<std::string_view> names) {
    for (const auto name : names)
      if (const auto value = string_at(event, {name}); !value.empty()) return value;
    return string_at(event, {"eventTime"});
  };
  auto first = stamp({"firstTimestamp", "deprecatedFirstTimestamp"});
  auto last = stamp({"lastTimestamp", "deprecatedLastTimestamp"});
  auto count = int_at(event, {"count"}, int_at(event, {"deprecatedCount"}, 1));
  if (const auto series = string_at(event, {"series", "lastObservedTime"}); !series.empty()) {
    last = series;
    count = int_at(event, {"series", "count"});
  }
  const auto seen = age_of(last, now);
  std::string kind(string_at(event, {about, "kind"}));
  std::ranges::transform(kind, kind.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto source = string_at(event, {"source", "component"});
  if (source.empty())
    source = string_at(event, {core ? "reportingComponent" : "reportingController"});
  auto message = string_at(event, {core ? "message" : "note"});
  while (message.ends_with('\n')) message.remove_suffix(1);
  return {Json(seen),
          Json(string_at(event, {"type"})),
          Json(string_at(event, {"reason"})),
          Json(fmt::format("{}/{}", kind, string_at(event, {about, "name"}))),
          Json(string_at(event, {about, "fieldPath"})),
          Json(source),
          Json(message),
          Json(age_of(first, now)),
          Json(count),
          name_of(event)};
}

JsonArray deployment_cells(const Json& object, Time now) {
  const auto [names, images] = containers(object, {"spec", "template", "spec", "containers"});
  return {name_of(object),
          Json(fmt::format("{}/{}", int_at(object, {"status", "readyReplicas"}),
                           int_at(object, {"spec", "replicas"}))),
          Json(int_at(object, {"status", "updatedReplicas"})),
          Json(int_at(object, {"status", "availableReplicas"})),
          Json(age(object, now)),
          Json(names),
          Json(images),
          Json(selector(object, {"spec", "selector"}))};
}

JsonArray replica_set_cells(const Json& object, Time now) {
  const auto [names, images] = containers(object, {"spec", "template", "spec", "containers"});
  return {name_of(object),
          Json(int_at(object, {"spec", "replicas"})),
          Json(int_at(object, {"status", "replicas"})),
          Json(int_at(object, {"status", "readyReplicas"})),
          Json(age(object, now)),
          Json(names),
          Json(images),
          Json(selector(object, {"spec", "selector"}))};
}

JsonArray config_map_cells(const Json& object, Time now) {
  return {name_of(object),
          Json(static_cast<std::int64_t>(object_at(object, {"data"}).size() +
                                         object_at(object, {"binaryData"}).size())),
          Json(age(object, now))};
}
JsonArray secret_cells(const Json& object, Time now) {
  return {name_of(object), Json(string_at(object, {"type"})),
          Json(static_cast<std::int64_t>(object_at(object, {"data"}).size())),
          Json(age(object, now))};
}
JsonArray account_cells(const Json& object, Time now) {
  return {name_of(object), Json(static_cast<std::int64_t>(array_at(object, {"secrets"}).size())),
          Json(age(object, now))};
}
JsonArray claim_cells(const Json& object, Time now) {
  std::vector<std::string> modes;
  for (const auto& mode : array_at(object, {"spec", "accessModes"}))
    if (mode.is_string()) {
      const std::string_view name = mode.get_string();
      modes.emplace_back(name == "ReadWriteOnce"   ? "RWO"
                         : name == "ReadOnlyMany"  ? "ROX"
                         : name == "ReadWriteMany" ? "RWX"
                                                   : "RWOP");
    }
  return {name_of(object),
          Json(find(object, {"metadata", "deletionTimestamp"})
                   ? "Terminating"
                   : string_at(object, {"status", "phase"})),
          Json(string_at(object, {"spec", "volumeName"})),
          Json(string_at(object, {"status", "capacity", "storage"})),
          Json(join(modes)),
          Json(string_at(object, {"spec", "storageClassName"})),
          Json("<unset>"),
          Json(age(object, now)),
          Json(string_at(object, {"spec", "volumeMode"}))};
}
JsonArray ingress_cells(const Json& object, Time now) {
  std::vector<std::string> hosts, addresses;
  for (const auto& rule : array_at(object, {"spec", "rules"}))
    if (const auto host = string_at(rule, {"host"}); !host.empty()) hosts.emplace_back(host);
  for (const auto& entry : array_at(object, {"status", "loadBalancer", "ingress"}))
    addresses.emplace_back(string_at(entry, {"ip"}, string_at(entry, {"hostname"})));
  return {name_of(object),
          Json(text(object, {"spec", "ingressClassName"})),
          Json(hosts.empty() ? "*" : join(hosts)),
          Json(join(addresses)),
          Json(array_at(object, {"spec", "tls"}).empty() ? "80" : "80, 443"),
          Json(age(object, now))};
}
JsonArray policy_cells(const Json& object, Time now) {
  return {name_of(object), Json(selector(object, {"spec", "podSelector"})), Json(age(object, now))};
}
JsonArray created_cells(const Json& object, Time) {
  return {name_of(object), Json(string_at(object, {"metadata", "creationTimestamp"}))};
}
JsonArray binding_cells(const Json& object, Time now) {
  return {name_of(object),
          Json(fmt::format("{}/{}", string_at(object, {"roleRef", "kind"}),
                           string_at(object, {"roleRef", "name"}))),
          Json(age(object, now))};
}
JsonArray lease_cells(const Json& object, Time now) {
  return {name_of(object), Json(string_at(object, {"spec", "holderIdentity"})),
          Json(age(object, now))};
}
JsonArray slice_cells(const Json& object, Time now) {
  std::vector<std::string> ports, addresses;
  for (const auto& port : array_at(object, {"ports"}))
    ports.push_back(std::to_string(int_at(port, {"port"})));
  for (const auto& endpoint : array_at(object, {"endpoints"}))
    for (const auto& address : array_at(endpoint, {"addresses"}))
      if (address.is_string()) addresses.emplace_back(address.get_string());
  return {name_of(object), Json(string_at(object, {"addressType"})),
          Json(ports.empty() ? "<unset>" : join(ports)),
          Json(addresses.empty() ? "<unset>" : join(addresses)), Json(age(object, now))};
}
JsonArray endpoints_cells(const Json& object, Time now) {
  std::vector<std::string> all;
  for (const auto& subset : array_at(object, {"subsets"}))
    for (const auto& address : array_at(subset, {"addresses"}))
      for (const auto& port : array_at(subset, {"ports"}))
        all.push_back(fmt::format("{}:{}", string_at(address, {"ip"}), int_at(port, {"port"})));
  return {name_of(object), Json(all.empty() ? "<none>" : join(all)), Json(age(object, now))};
}
JsonArray priority_cells(const Json& object, Time now) {
  return {name_of(object), Json(int_at(object, {"value"})),
          Json(bool_at(object, {"globalDefault"})), Json(age(object, now)),
          Json(string_at(object, {"preemptionPolicy"}))};
}
JsonArray plain_cells(const Json& object, Time now) {
  return {name_of(object), Json(age(object, now))};
}

Column name_column() { return {"Name", "string", "name"}; }

Layout layout_of(const Kind& kind) {
  const auto& plural = kind.resource.plural;
  const Column n = name_column();
  if (plural == "pods")
    return {{n,
             {"Ready"},
             {"Status"},
             {"Restarts"},
             {"Age"},
             {"IP", "string", "", 1},
             {"Node", "string", "", 1},
             {"Nominated Node", "string", "", 1},
             {"Readiness Gates", "string", "", 1}},
            pod_cells};
  if (plural == "services")
    return {{n,
             {"Type"},
             {"Cluster-IP"},
             {"External-IP"},
             {"Port(s)"},
             {"Age"},
             {"Selector", "string", "", 1}},
            service_cells};
  if (plural == "jobs")
    return {{n,
             {"Status"},
             {"Completions"},
             {"Duration"},
             {"Age"},
             {"Containers", "string", "", 1},
             {"Images", "string", "", 1},
             {"Selector", "string", "", 1}},
            job_cells};
  if (plural == "namespaces") return {{n, {"Status"}, {"Age"}}, namespace_cells};
  if (plural == "nodes")
    return {{n,
             {"Status"},
             {"Roles"},
             {"Age"},
             {"Version"},
             {"Internal-IP", "string", "", 1},
             {"External-IP", "string", "", 1},
             {"OS-Image", "string", "", 1},
             {"Kernel-Version", "string", "", 1},
             {"Container-Runtime", "string", "", 1}},
            node_cells};
  if (plural == "events")
    return {{{"Last Seen"},
             {"Type"},
             {"Reason"},
             {"Object"},
             {"Subobject", "string", "", 1},
             {"Source", "string", "", 1},
             {"Message"},
             {"First Seen", "string", "", 1},
             {"Count", "string", "", 1},
             {"Name", "string", "name", 1}},
            event_cells};
  if (plural == "deployments")
    return {{n,
             {"Ready"},
             {"Up-to-date"},
             {"Available"},
             {"Age"},
             {"Containers", "string", "", 1},
             {"Images", "string", "", 1},
             {"Selector", "string", "", 1}},
            deployment_cells};
  if (plural == "replicasets")
    return {{n,
             {"Desired", "integer"},
             {"Current", "integer"},
             {"Ready", "integer"},
             {"Age"},
             {"Containers", "string", "", 1},
             {"Images", "string", "", 1},
             {"Selector", "string", "", 1}},
            replica_set_cells};
  if (plural == "configmaps") return {{n, {"Data"}, {"Age"}}, config_map_cells};
  if (plural == "secrets") return {{n, {"Type"}, {"Data"}, {"Age"}}, secret_cells};
  if (plural == "serviceaccounts") return {{n, {"Secrets"}, {"Age"}}, account_cells};
  if (plural == "persistentvolumeclaims")
    return {{n,
             {"Status"},
             {"Volume"},
             {"Capacity"},
             {"Access Modes"},
             {"StorageClass"},
             {"VolumeAttributesClass"},
             {"Age"},
             {"VolumeMode", "string", "", 1}},
            claim_cells};
  if (plural == "ingresses")
    return {{n, {"Class"}, {"Hosts"}, {"Address"}, {"Ports"}, {"Age"}}, ingress_cells};
  if (plural == "networkpolicies") return {{n, {"Pod-Selector"}, {"Age"}}, policy_cells};
  if (plural == "roles" || plural == "clusterroles" || plural == "customresourcedefinitions")
    return {{n, {"Created At", "string", "date"}}, created_cells};
  if (plural == "rolebindings" || plural == "clusterrolebindings")
    return {{n, {"Role"}, {"Age"}}, binding_cells};
  if (plural == "leases") return {{n, {"Holder"}, {"Age"}}, lease_cells};
  if (plural == "endpointslices")
    return {{n, {"AddressType"}, {"Ports"}, {"Endpoints"}, {"Age"}}, slice_cells};
  if (plural == "endpoints") return {{n, {"Endpoints"}, {"Age"}}, endpoints_cells};
  if (plural == "priorityclasses")
    return {{n, {"Value"}, {"Global-Default"}, {"Age"}, {"PreemptionPolicy"}}, priority_cells};
  return {{n, {"Age"}}, plain_cells};
}

/// The first value at a JSONPath like .status.conditions[?(@.type=="Ready")].status or .a[0].b.
std::optional<Json> json_path(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty()) {
    if (path.front() == '.') {
      path.remove_prefix(1);
      continue;
    }
    if (path.front() == '[') {
      const auto end = path.find(']');
      if (end == path.npos) return std::nullopt;
      auto inside = path.substr(1, end - 1);
      path.remove_prefix(end + 1);
      if (inside.starts_with("?(@.")) {
        const auto equal = inside.find("==");
        if (equal == inside.npos || !at->is_array()) return std::nullopt;
        auto field = inside.substr(4, equal - 4);
        while (field.ends_with(' ')) field.remove_suffix(1);
        auto wanted = inside.substr(equal + 2);
        wanted.remove_suffix(wanted.ends_with(')') ? 1 : 0);
        while (!wanted.empty() &&
               std::string_view("\"' ").find(wanted.front()) != std::string_view::npos)
          wanted.remove_prefix(1);
        while (!wanted.empty() &&
               std::string_view("\"' ").find(wanted.back()) != std::string_view::npos)
          wanted.remove_suffix(1);
        const auto& items = at->get_array();
        auto found = std::ranges::find_if(
            items, [&](const Json& item) { return string_at(item, {field}) == wanted; });
        if (found == items.end()) return std::nullopt;
        at = &*found;
      } else if (inside.starts_with('\'') || inside.starts_with('"')) {
        inside = inside.substr(1, inside.size() - 2);
        if (!at->is_object() || !(at = at->get_object().if_contains(inside))) return std::nullopt;
      } else {
        const auto index = static_cast<std::size_t>(std::atoi(std::string(inside).c_str()));
        if (!at->is_array() || index >= at->get_array().size()) return std::nullopt;
        at = &at->get_array()[index];
      }
      continue;
    }
    // A dot in a key is written \. in JSONPath.
    std::string name;
    while (!path.empty() && path.front() != '.' && path.front() != '[') {
      if (path.starts_with("\\.")) path.remove_prefix(1);
      name += path.front();
      path.remove_prefix(1);
    }
    if (!at->is_object() || !(at = at->get_object().if_contains(name))) return std::nullopt;
  }
  return *at;
}

JsonArray custom_cells(const Kind& kind, const Json& object, Time now) {
  JsonArray cells{name_of(object)};
  if (kind.crd->columns.empty()) {
    cells.push_back(Json(age(object, now)));
    return cells;
  }
  for (const auto& column : kind.crd->columns) {
    const auto value = json_path(object, column.json_path);
    if (!value || value->is_null())
      cells.push_back(column.type == "string" ? Json("") : Json());
    else if (column.type == "date")
      cells.push_back(Json(value->is_string() ? age_of(value->get_string(), now) : "<invalid>"));
    else if (column.type == "string" && !value->is_string())
      cells.push_back(Json(dump_json(*value)));
    else
      cells.push_back(*value);
  }
  return cells;
}

std::vector<Column> custom_columns(const Kind& kind) {
  std::vector<Column> columns{name_column()};
  if (kind.crd->columns.empty()) columns.push_back({"Age", "date", "", 0});
  for (const auto& column : kind.crd->columns)
    columns.push_back(
        {column.name, column.type, column.format, column.priority, column.description});
  return columns;
}

Json row_object(const Json& object, std::string_view include) {
  if (include == "Object") return object;
  if (include == "None") return Json();
  return JsonObject{{"kind", "PartialObjectMetadata"},
                    {"apiVersion", "meta.k8s.io/v1"},
                    {"metadata", object_at(object, {"metadata"})}};
}

}  // namespace

std::string human_duration(Duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 60 * 2) return fmt::format("{}s", seconds);
  const auto minutes = seconds / 60;
  if (minutes < 10)
    return seconds % 60 ? fmt::format("{}m{}s", minutes, seconds % 60)
                        : fmt::format("{}m", minutes);
  if (minutes < 60 * 3) return fmt::format("{}m", minutes);
  const auto hours = minutes / 60;
  if (hours < 8)
    return minutes % 60 ? fmt::format("{}h{}m", hours, minutes % 60) : fmt::format("{}h", hours);
  if (hours < 48) return fmt::format("{}h", hours);
  const auto days = hours / 24;
  if (hours < 24 * 8)
    return hours % 24 ? fmt::format("{}d{}h", days, hours % 24) : fmt::format("{}d", days);
  if (days < 365 * 2) return fmt::format("{}d", days);
  const auto years = days / 365;
  if (days < 365 * 8)
    return days % 365 ? fmt::format("{}y{}d", years, days % 365) : fmt::format("{}y", years);
  return fmt::format("{}y", years);
}

Json make_table(const Kind& kind, const std::vector<Json>& objects, JsonObject list_metadata,
                Time now, bool with_columns, std::string_view include_object) {
  const bool custom = !kind.builtin();
  const auto layout = custom ? Layout{custom_columns(kind), nullptr} : layout_of(kind);
  JsonArray columns, rows;
  if (with_columns)
    for (const auto& column : layout.columns)
      columns.push_back(JsonObject{{"name", column.name},
                                   {"type", column.type},
                                   {"format", column.format},
                                   {"description", column.description},
                                   {"priority", column.priority}});
  for (const auto& object : objects) {
    JsonObject row{{"cells", custom ? custom_cells(kind, object, now) : layout.cells(object, now)}};
    if (auto shown = row_object(object, include_object); !shown.is_null())
      row["object"] = std::move(shown);
    rows.push_back(std::move(row));
  }
  return JsonObject{{"kind", "Table"},
                    {"apiVersion", "meta.k8s.io/v1"},
                    {"metadata", std::move(list_metadata)},
                    {"columnDefinitions", std::move(columns)},
                    {"rows", std::move(rows)}};
}

}  // namespace manta::local
