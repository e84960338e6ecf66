// Pods and Pod templates: defaults, admission, what a node-less Pod looks like.
// Source: Kubernetes pkg/apis/core/v1/defaults.go, plugin/pkg/admission.
#include "base/quantity.h"
#include "fmt/format.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <array>

namespace manta::local {
namespace {

/// An image without tag, or tagged latest, is pulled each time.
std::string_view pull_policy(std::string_view image) {
  if (image.find('@') != image.npos) return "IfNotPresent";
  const auto colon = image.rfind(':');
  const auto slash = image.rfind('/');
  const bool tagged = colon != image.npos && (slash == image.npos || colon > slash);
  return !tagged || image.substr(colon) == ":latest" ? "Always" : "IfNotPresent";
}

void default_probe(JsonObject& container, std::string_view name) {
  auto* probe = object_in(container, name);
  if (!probe) return;
  set_default(*probe, "timeoutSeconds", 1);
  set_default(*probe, "periodSeconds", 10);
  set_default(*probe, "successThreshold", 1);
  set_default(*probe, "failureThreshold", 3);
  if (auto* http = object_in(*probe, "httpGet")) {
    set_default(*http, "path", "/");
    set_default(*http, "scheme", "HTTP");
  }
  if (auto* grpc = object_in(*probe, "grpc")) set_default(*grpc, "service", "");
}

void default_handler(JsonObject& lifecycle, std::string_view name) {
  if (auto* handler = object_in(lifecycle, name))
    if (auto* http = object_in(*handler, "httpGet")) {
      set_default(*http, "path", "/");
      set_default(*http, "scheme", "HTTP");
    }
}

void default_field_ref(JsonObject& source) {
  if (auto* ref = object_in(source, "fieldRef")) set_default(*ref, "apiVersion", "v1");
  if (auto* ref = object_in(source, "resourceFieldRef")) set_default(*ref, "divisor", "0");
}

void default_container(JsonObject& container, bool host_network) {
  set_default(container, "terminationMessagePath", "/dev/termination-log");
  set_default(container, "terminationMessagePolicy", "File");
  const auto* image = container.if_contains("image");
  set_default(container, "imagePullPolicy",
              Json(pull_policy(image && image->is_string() ? std::string_view(image->get_string())
                                                           : std::string_view{})));
  set_default(container, "resources", JsonObject{});
  each_object(container, "ports", [&](JsonObject& port) {
    set_default(port, "protocol", "TCP");
    if (host_network)
      if (const auto* number = port.if_contains("containerPort"))
        set_default(port, "hostPort", *number);
  });
  for (const auto* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    default_probe(container, probe);
  if (auto* lifecycle = object_in(container, "lifecycle")) {
    default_handler(*lifecycle, "postStart");
    default_handler(*lifecycle, "preStop");
  }
  each_object(container, "env", [](JsonObject& variable) {
    if (auto* from = object_in(variable, "valueFrom")) default_field_ref(*from);
  });
}

void default_items(JsonObject& source) {
  each_object(source, "items", [](JsonObject& item) { default_field_ref(item); });
}

void default_volume(JsonObject& volume) {
  for (const auto* name : {"secret", "configMap", "downwardAPI", "projected"})
    if (auto* source = object_in(volume, name)) {
      set_default(*source, "defaultMode", 420);
      default_items(*source);
      each_object(*source, "sources", [](JsonObject& part) {
        if (auto* api = object_in(part, "downwardAPI")) default_items(*api);
        if (auto* token = object_in(part, "serviceAccountToken"))
          set_default(*token, "expirationSeconds", 3600);
      });
    }
  if (auto* host = object_in(volume, "hostPath")) set_default(*host, "type", "");
  if (auto* iscsi = object_in(volume, "iscsi")) set_default(*iscsi, "iscsiInterface", "default");
  if (auto* ephemeral = object_in(volume, "ephemeral"))
    if (auto* claim = object_in(*ephemeral, "volumeClaimTemplate"))
      if (auto* spec = object_in(*claim, "spec")) set_default(*spec, "volumeMode", "Filesystem");
  // A volume with nothing but a name is an emptyDir.
  if (volume.size() == 1 && volume.contains("name")) volume["emptyDir"] = JsonObject{};
}

void default_pod_spec(JsonObject& spec) {
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "dnsPolicy", "ClusterFirst");
  set_default(spec, "schedulerName", "default-scheduler");
  set_default(spec, "securityContext", JsonObject{});
  set_default(spec, "terminationGracePeriodSeconds", 30);
  const auto* host = spec.if_contains("hostNetwork");
  const bool host_network = host && host->is_bool() && host->get_bool();
  for (const auto* list : {"containers", "initContainers", "ephemeralContainers"})
    each_object(spec, list,
                [&](JsonObject& container) { default_container(container, host_network); });
  each_object(spec, "volumes", default_volume);
  // The old spelling follows the new one. Copied first: a new key may move the others.
  if (const auto* account = spec.if_contains("serviceAccountName")) {
    Json name = *account;
    spec["serviceAccount"] = std::move(name);
  } else if (const auto* old = spec.if_contains("serviceAccount")) {
    Json name = *old;
    spec["serviceAccountName"] = std::move(name);
  }
}

void requests_from_limits(JsonObject& container) {
  auto* resources = object_in(container, "resources");
  if (!resources) return;
  auto* limits = object_in(*resources, "limits");
  if (!limits) return;
  const JsonObject copy = *limits;
  auto& requests = (*resources)["requests"];
  if (!requests.is_object()) requests = JsonObject{};
  for (const auto& [name, amount] : copy) set_default(requests.get_object(), name, amount);
}

/// Guaranteed: every container limits CPU and memory and asks for just that; BestEffort: nobody
/// asks for either. Source: kubelet qos.ComputePodQOS.
std::string_view qos_class(const Json& pod) {
  bool any = false, guaranteed = true;
  for (const auto* list : {"containers", "initContainers"})
    for (const auto& container : array_at(pod, {"spec", list})) {
      for (const auto* resource : {"cpu", "memory"}) {
        const std::string limit(string_at(container, {"resources", "limits", resource}));
        const std::string request(string_at(container, {"resources", "requests", resource}));
        auto positive = [](std::string_view text) {
          auto amount = Quantity::parse(text);
          return amount && !amount->is_zero();
        };
        if (positive(limit) || positive(request)) any = true;
        if (!positive(limit) || (!request.empty() && request != limit)) guaranteed = false;
      }
    }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

/// What DefaultTolerationSeconds adds: 5 minutes on a lost node, unless the Pod says otherwise.
void add_default_tolerations(JsonObject& spec) {
  auto& list = spec["tolerations"];
  if (!list.is_array()) list = JsonArray{};
  for (const auto* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool present = false;
    for (const auto& toleration : list.get_array()) {
      const std::string own(string_at(toleration, {"key"}));
      const std::string effect(string_at(toleration, {"effect"}));
      if ((own == key || own.empty()) && (effect == "NoExecute" || effect.empty())) present = true;
    }
    if (!present)
      list.get_array().push_back(JsonObject{{"key", key},
                                            {"operator", "Exists"},
                                            {"effect", "NoExecute"},
                                            {"tolerationSeconds", 300}});
  }
}

Result<void> set_priority(Rest& rest, const Kind& kind, Json& pod) {
  auto& spec = object_made_at(pod, {"spec"});
  const auto classes = rest.kinds().find("scheduling.k8s.io", "v1", "priorityclasses");
  const auto name = std::string(string_at(pod, {"spec", "priorityClassName"}));
  std::optional<Json> chosen;
  if (!name.empty()) {
    auto found = rest.read(*classes, "", name);
    if (!found) return failed(found.error());
    if (!*found)
      return failed(forbidden(kind.resource, string_at(pod, {"metadata", "name"}),
                              fmt::format("no PriorityClass with name {} was found", name)));
    chosen = std::move(*found);
  } else {
    auto all = rest.list(*classes, {});
    if (!all) return failed(all.error());
    for (const auto& text : all->items) {
      auto candidate = parse_json(*text);
      if (candidate && bool_at(*candidate, {"globalDefault"})) chosen = std::move(*candidate);
    }
    if (chosen) spec["priorityClassName"] = string_at(*chosen, {"metadata", "name"});
  }
  spec["priority"] = chosen ? int_at(*chosen, {"value"}) : 0;
  const auto policy = chosen ? string_at(*chosen, {"preemptionPolicy"}, "PreemptLowerPriority")
                             : "PreemptLowerPriority";
  set_default(spec, "preemptionPolicy", Json(policy));
  return {};
}

}  // namespace

void default_pod_template(Json& template_) {
  if (!template_.is_object()) return;
  auto& members = template_.get_object();
  if (auto* spec = object_in(members, "spec")) default_pod_spec(*spec);
}

/// The singular forms are the first of the plural ones.
static void mirror_ips(Json& pod) {
  for (const auto& [one, many] : {std::pair{"podIP", "podIPs"}, std::pair{"hostIP", "hostIPs"}}) {
    const auto ip = std::string(string_at(pod, {"status", one}));
    if (ip.empty() || find(pod, {"status", many})) continue;
    object_made_at(pod, {"status"})[many] = JsonArray{JsonObject{{"ip", ip}}};
  }
}

void default_pod(Json& pod) {
  auto& spec = object_made_at(pod, {"spec"});
  default_pod_spec(spec);
  set_default(spec, "enableServiceLinks", true);
  for (const auto* list : {"containers", "initContainers"})
    each_object(spec, list, requests_from_limits);
  mirror_ips(pod);
}

namespace {

/// matchLabelKeys become part of the selector when the Pod is made, with the Pod's own values.
/// Source: pod strategy applyMatchLabelKeysAndMismatchLabelKeys.
void apply_label_keys(JsonObject& term, const JsonObject& labels) {
  auto* selector = object_in(term, "labelSelector");
  if (!selector) return;  // no selector matches nothing, and stays so
  for (const auto& [list, op] :
       {std::pair{"matchLabelKeys", "In"}, std::pair{"mismatchLabelKeys", "NotIn"}}) {
    const auto* keys = term.if_contains(list);
    if (!keys || !keys->is_array()) continue;
    for (const auto& key : keys->get_array()) {
      const auto* value = key.is_string() ? labels.if_contains(key.get_string()) : nullptr;
      if (!value) continue;
      auto& expressions = (*selector)["matchExpressions"];
      if (!expressions.is_array()) expressions = JsonArray{};
      expressions.get_array().push_back(
          JsonObject{{"key", key}, {"operator", op}, {"values", JsonArray{*value}}});
    }
  }
}

void apply_label_keys_everywhere(Json& pod) {
  const JsonObject labels = object_at(pod, {"metadata", "labels"});
  auto& spec = object_made_at(pod, {"spec"});
  each_object(spec, "topologySpreadConstraints",
              [&](JsonObject& constraint) { apply_label_keys(constraint, labels); });
  auto* affinity = object_in(spec, "affinity");
  if (!affinity) return;
  for (const auto* kind : {"podAffinity", "podAntiAffinity"})
    if (auto* terms = object_in(*affinity, kind)) {
      each_object(*terms, "requiredDuringSchedulingIgnoredDuringExecution",
                  [&](JsonObject& term) { apply_label_keys(term, labels); });
      each_object(*terms, "preferredDuringSchedulingIgnoredDuringExecution",
                  [&](JsonObject& weighted) {
                    if (auto* term = object_in(weighted, "podAffinityTerm"))
                      apply_label_keys(*term, labels);
                  });
    }
}

}  // namespace

Result<void> prepare_pod(Rest& rest, const Kind& kind, Json& pod) {
  if (auto ok = apply_limit_ranges(rest, kind, pod); !ok) return ok;
  auto& spec = object_made_at(pod, {"spec"});
  if (rest.options().mount_service_accounts)
    if (auto ok = apply_service_account(rest, pod); !ok) return ok;
  add_default_tolerations(spec);
  if (auto ok = set_priority(rest, kind, pod); !ok) return ok;
  apply_label_keys_everywhere(pod);
  JsonObject status{{"phase", "Pending"}, {"qosClass", qos_class(pod)}};
  if (!array_at(pod, {"spec", "schedulingGates"}).empty())
    status["conditions"] =
        JsonArray{JsonObject{{"type", "PodScheduled"},
                             {"status", "False"},
                             {"lastProbeTime", nullptr},
                             {"lastTransitionTime", nullptr},
                             {"reason", "SchedulingGated"},
                             {"message",
                              "Scheduling is blocked due to non-empty scheduling "
                              "gates"}}};
  pod.get_object()["status"] = std::move(status);
  return {};
}

void prepare_pod_update(Rest&, Json& pod, const Json& old) {
  // What admission filled in at creation is not the client's to forget.
  auto& spec = object_made_at(pod, {"spec"});
  for (const auto* field : {"priority", "preemptionPolicy"})
    if (const auto* value = find(old, {"spec", field})) set_default(spec, field, *value);
}

namespace {

/// One item of a LimitRange against one container. Source: plugin/pkg/admission/limitranger.
void apply_item(const Json& item, JsonObject& container, std::vector<std::string>& problems) {
  auto& resources = container["resources"];
  if (!resources.is_object()) resources = JsonObject{};
  for (const auto& [kind, from] :
       {std::pair{"limits", "default"}, std::pair{"requests", "defaultRequest"}})
    for (const auto& [name, amount] : object_at(item, {from})) {
      auto& table = resources.get_object()[kind];
      if (!table.is_object()) table = JsonObject{};
      set_default(table.get_object(), name, amount);
    }
  auto amount = [&](std::string_view table, std::string_view name) -> std::optional<Quantity> {
    const std::string text(string_at(resources, {table, name}));
    if (text.empty()) return std::nullopt;
    auto parsed = Quantity::parse(text);
    return parsed ? std::optional(*parsed) : std::nullopt;
  };
  for (const auto& [name, bound] : object_at(item, {"min"})) {
    auto least = Quantity::parse(bound.is_string() ? std::string_view(bound.get_string()) : "0");
    if (!least) continue;
    const std::string label(name);
    if (auto request = amount("requests", name); !request)
      problems.push_back(
          fmt::format("minimum {} usage per Container is {}.  No request is specified", label,
                      least->to_string()));
    else if (*request < *least)
      problems.push_back(fmt::format("minimum {} usage per Container is {}, but request is {}",
                                     label, least->to_string(), request->to_string()));
  }
  for (const auto& [name, bound] : object_at(item, {"max"})) {
    auto most = Quantity::parse(bound.is_string() ? std::string_view(bound.get_string()) : "0");
    if (!most) continue;
    const std::string label(name);
    if (auto limit = amount("limits", name); !limit)
      problems.push_back(fmt::format("maximum {} usage per Container is {}.  No limit is specified",
                                     label, most->to_string()));
    else if (*limit > *most)
      problems.push_back(fmt::format("maximum {} usage per Container is {}, but limit is {}", label,
                                     most->to_string(), limit->to_string()));
  }
}

}  // namespace

Result<void> apply_limit_ranges(Rest& rest, const Kind& kind, Json& pod) {
  const auto ranges = rest.kinds().find("", "v1", "limitranges");
  kube::Request request;
  request.namespace_ = std::string(string_at(pod, {"metadata", "namespace"}));
  auto page = rest.list(*ranges, request);
  if (!page) return failed(page.error());
  std::vector<std::string> problems;
  for (const auto& text : page->items) {
    auto range = parse_json(*text);
    if (!range) continue;
    for (const auto& item : array_at(*range, {"spec", "limits"})) {
      if (string_at(item, {"type"}) != "Container") continue;
      for (const auto* list : {"initContainers", "containers"})
        each_object(object_made_at(pod, {"spec"}), list,
                    [&](JsonObject& container) { apply_item(item, container, problems); });
    }
  }
  if (problems.empty()) return {};
  std::string list;
  for (const auto& problem : problems) list += (list.empty() ? "" : ", ") + problem;
  if (problems.size() > 1) list = "[" + list + "]";
  return failed(forbidden(kind.resource, string_at(pod, {"metadata", "name"}), list));
}

}  // namespace manta::local
