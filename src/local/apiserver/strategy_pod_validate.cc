// What a Pod must satisfy: the mistakes that people and operators make, with the API server's paths
// and texts. Source: Kubernetes pkg/apis/core/validation.
#include "base/quantity.h"
#include "fmt/format.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/name_rules.h"
#include "local/apiserver/strategy.h"

#include <algorithm>
#include <set>

namespace manta::local {
namespace {

std::string at(const std::string& path, std::string_view field) {
  return fmt::format("{}.{}", path, field);
}
std::string at(const std::string& path, std::string_view list, std::size_t index) {
  return fmt::format("{}.{}[{}]", path, list, index);
}

void one_of(const Json& object, std::string_view field, const std::string& path,
            std::vector<std::string> allowed, FieldErrors& errors) {
  const auto value = string_at(object, {field});
  if (std::ranges::find(allowed, value) == allowed.end())
    errors.not_supported(at(path, field), Json(value), std::move(allowed));
}

void validate_env_name(std::string_view name, const std::string& path, FieldErrors& errors) {
  if (name.empty()) return errors.required(path);
  const bool fine =
      std::ranges::all_of(name, [](char c) { return c >= 0x20 && c < 0x7f && c != '='; });
  if (!fine)
    errors.invalid(
        path, Json(name),
        "a valid environment variable name must consist only of printable ASCII characters "
        "other than '='");
}

void validate_env(const Json& container, const std::string& path, FieldErrors& errors) {
  const auto& list = array_at(container, {"env"});
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto here = at(path, "env", i);
    validate_env_name(string_at(list[i], {"name"}), here + ".name", errors);
    const auto* from = find(list[i], {"valueFrom"});
    if (!from || !from->is_object()) continue;
    std::size_t sources = 0;
    for (const auto* source :
         {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"})
      if (from->get_object().contains(source)) ++sources;
    if (!string_at(list[i], {"value"}).empty() && sources)
      errors.invalid(here + ".valueFrom", Json(""),
                     "may not be specified when `value` is not empty");
    else if (sources == 0)
      errors.invalid(here + ".valueFrom", Json(""),
                     "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or "
                     "`secretKeyRef`");
    else if (sources > 1)
      errors.invalid(here + ".valueFrom", Json(""),
                     "may not have more than one field specified at a time");
    for (const auto* source : {"configMapKeyRef", "secretKeyRef"})
      if (from->get_object().contains(source) && string_at(*from, {source, "key"}).empty())
        errors.required(fmt::format("{}.valueFrom.{}.key", here, source));
    if (from->get_object().contains("fieldRef") &&
        string_at(*from, {"fieldRef", "fieldPath"}).empty())
      errors.required(here + ".valueFrom.fieldRef.fieldPath");
  }
}

void validate_ports(const Json& container, const std::string& path, FieldErrors& errors) {
  const auto& list = array_at(container, {"ports"});
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto here = at(path, "ports", i);
    const auto name = std::string(string_at(list[i], {"name"}));
    if (!name.empty()) {
      const bool letters = std::ranges::any_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
      const bool chars = std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
      });
      if (name.size() > 15)
        errors.invalid(here + ".name", Json(name), "must be no more than 15 characters");
      if (!chars)
        errors.invalid(here + ".name", Json(name),
                       "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
      else if (!letters)
        errors.invalid(here + ".name", Json(name), "must contain at least one letter (a-z)");
      if (name.find("--") != name.npos)
        errors.invalid(here + ".name", Json(name), "must not contain consecutive hyphens");
      if (name.front() == '-' || name.back() == '-')
        errors.invalid(here + ".name", Json(name), "must not begin or end with a hyphen");
      if (!names.insert(name).second) errors.duplicate(here + ".name", Json(name));
    }
    const auto number = int_at(list[i], {"containerPort"});
    if (number == 0)
      errors.required(here + ".containerPort");
    else if (number < 1 || number > 65535)
      errors.invalid(here + ".containerPort", Json(number),
                     "must be between 1 and 65535, inclusive");
    const auto host = int_at(list[i], {"hostPort"});
    if (host < 0 || host > 65535)
      errors.invalid(here + ".hostPort", Json(host), "must be between 1 and 65535, inclusive");
    one_of(list[i], "protocol", here, {"SCTP", "TCP", "UDP"}, errors);
  }
}

void validate_resources(const Json& container, const std::string& path, FieldErrors& errors) {
  auto quantity = [](const Json& value) {
    return Quantity::parse(value.is_string() ? std::string_view(value.get_string()) : "0");
  };
  for (const auto* table : {"limits", "requests"})
    for (const auto& [name, value] : object_at(container, {"resources", table})) {
      const auto here = fmt::format("{}.resources.{}[{}]", path, table, std::string_view(name));
      const std::string_view key = name;
      if (auto why = check_qualified_name(key); !why.empty()) errors.invalid(here, Json(key), why);
      const bool native = key.find('/') == key.npos;
      if (native && key != "cpu" && key != "memory" && key != "ephemeral-storage" &&
          key != "storage" && !key.starts_with("hugepages-"))
        errors.invalid(here, Json(key), "must be a standard resource for containers");
      auto amount = quantity(value);
      if (!amount) continue;
      if (*amount < Quantity()) errors.invalid(here, value, "must be greater than or equal to 0");
      const bool whole = !native;
      if (whole && amount->milli_value() % 1000 != 0)
        errors.invalid(here, value, "must be an integer");
    }
  for (const auto& [name, value] : object_at(container, {"resources", "requests"})) {
    const auto* limit = find(container, {"resources", "limits"});
    const auto* bound =
        limit && limit->is_object() ? limit->get_object().if_contains(name) : nullptr;
    const std::string_view key = name;
    const bool overcommit = key.find('/') == key.npos && !key.starts_with("hugepages-");
    if (!bound) {
      if (!overcommit)
        errors.required(fmt::format("{}.resources.limits", path),
                        "Limit must be set for non overcommitable resources");
      continue;
    }
    auto asked = quantity(value), most = quantity(*bound);
    if (!asked || !most) continue;
    if (overcommit && *asked > *most)
      errors.invalid(
          fmt::format("{}.resources.requests", path), Json(asked->to_string()),
          fmt::format("must be less than or equal to {} limit of {}", key, most->to_string()));
    else if (!overcommit && *asked != *most)
      errors.invalid(fmt::format("{}.resources.requests", path), Json(asked->to_string()),
                     fmt::format("must be equal to {} limit of {}", key, most->to_string()));
  }
}

void validate_probe(const Json& container, std::string_view name, const std::string& path,
                    FieldErrors& errors) {
  const auto* probe = find(container, {name});
  if (!probe || !probe->is_object()) return;
  const auto here = at(path, name);
  std::size_t handlers = 0;
  for (const auto* handler : {"exec", "httpGet", "tcpSocket", "grpc"})
    if (probe->get_object().contains(handler)) ++handlers;
  if (handlers == 0) errors.required(here, "must specify a handler type");
  if (handlers > 1) errors.forbidden(here, "may not specify more than 1 handler type");
  if (find(*probe, {"exec"}) && array_at(*probe, {"exec", "command"}).empty())
    errors.required(here + ".exec.command");
  for (const auto* field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                            "successThreshold", "failureThreshold"})
    if (const auto value = int_at(*probe, {field}); value < 0)
      errors.invalid(at(here, field), Json(value), "must be greater than or equal to 0");
  if (name != "readinessProbe" && int_at(*probe, {"successThreshold"}, 1) != 1)
    errors.invalid(here + ".successThreshold", Json(int_at(*probe, {"successThreshold"})),
                   "must be 1");
}

void validate_mounts(const Json& container, const std::string& path,
                     const std::set<std::string>& volumes, FieldErrors& errors) {
  const auto& list = array_at(container, {"volumeMounts"});
  std::set<std::string> paths;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto here = at(path, "volumeMounts", i);
    const auto name = std::string(string_at(list[i], {"name"}));
    if (name.empty()) errors.required(here + ".name");
    if (!volumes.contains(name)) errors.not_found(here + ".name", Json(name));
    const auto mount = std::string(string_at(list[i], {"mountPath"}));
    if (mount.empty())
      errors.required(here + ".mountPath");
    else if (!paths.insert(mount).second)
      errors.invalid(here + ".mountPath", Json(mount), "must be unique");
    const auto sub = string_at(list[i], {"subPath"});
    if (sub.starts_with('/'))
      errors.invalid(here + ".subPath", Json(sub), "must be a relative path");
    else if (sub == ".." || sub.starts_with("../") || sub.find("/../") != sub.npos)
      errors.invalid(here + ".subPath", Json(sub), "must not contain '..'");
  }
}

void validate_container(const Json& container, const std::string& path, bool init,
                        const std::set<std::string>& volumes, FieldErrors& errors) {
  const auto name = string_at(container, {"name"});
  if (name.empty())
    errors.required(path + ".name");
  else if (auto why = check_dns1123_label(name); !why.empty())
    errors.invalid(path + ".name", Json(name), why);
  const std::string_view image = string_at(container, {"image"});
  if (image.empty())
    errors.required(path + ".image");
  else if (image.front() == ' ' || image.back() == ' ' || image.back() == '\n' ||
           image.back() == '\t')
    errors.invalid(path + ".image", Json(image), "must not have leading or trailing whitespace");
  validate_ports(container, path, errors);
  validate_env(container, path, errors);
  const auto& sources = array_at(container, {"envFrom"});
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!find(sources[i], {"configMapRef"}) && !find(sources[i], {"secretRef"}))
      errors.invalid(at(path, "envFrom", i), Json(""),
                     "must specify one of: `configMapRef` or `secretRef`");
  validate_mounts(container, path, volumes, errors);
  one_of(container, "imagePullPolicy", path, {"Always", "IfNotPresent", "Never"}, errors);
  one_of(container, "terminationMessagePolicy", path, {"FallbackToLogsOnError", "File"}, errors);
  validate_resources(container, path, errors);
  const bool sidecar = init && string_at(container, {"restartPolicy"}) == "Always";
  for (const auto* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    if (!find(container, {probe})) continue;
    if (init && !sidecar)
      errors.forbidden(at(path, probe),
                       "may not be set for init containers without restartPolicy=Always");
    else
      validate_probe(container, probe, path, errors);
  }
  if (init && !sidecar && find(container, {"lifecycle"}))
    errors.forbidden(path + ".lifecycle",
                     "may not be set for init containers without restartPolicy=Always");
}

std::set<std::string> validate_volumes(const Json& spec, const std::string& path,
                                       FieldErrors& errors) {
  std::set<std::string> names;
  const auto& list = array_at(spec, {"volumes"});
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto here = at(path, "volumes", i);
    const auto name = std::string(string_at(list[i], {"name"}));
    if (name.empty())
      errors.required(here + ".name");
    else if (auto why = check_dns1123_label(name); !why.empty())
      errors.invalid(here + ".name", Json(name), why);
    if (!names.insert(name).second) errors.duplicate(here + ".name", Json(name));
    std::size_t sources = 0;
    if (list[i].is_object())
      sources = list[i].get_object().size() - (list[i].get_object().contains("name") ? 1 : 0);
    if (sources == 0) errors.required(here, "must specify a volume type");
    if (sources > 1) errors.forbidden(here, "may not specify more than 1 volume type");
    if (find(list[i], {"secret"}) && string_at(list[i], {"secret", "secretName"}).empty())
      errors.required(here + ".secret.secretName");
    if (find(list[i], {"configMap"}) && string_at(list[i], {"configMap", "name"}).empty())
      errors.required(here + ".configMap.name");
    if (find(list[i], {"persistentVolumeClaim"}) &&
        string_at(list[i], {"persistentVolumeClaim", "claimName"}).empty())
      errors.required(here + ".persistentVolumeClaim.claimName");
    if (find(list[i], {"hostPath"}) && string_at(list[i], {"hostPath", "path"}).empty())
      errors.required(here + ".hostPath.path");
    const auto& parts = array_at(list[i], {"projected", "sources"});
    for (std::size_t j = 0; j < parts.size(); ++j)
      if (find(parts[j], {"serviceAccountToken"}) &&
          string_at(spec, {"serviceAccountName"}).empty())
        errors.forbidden(fmt::format("{}.projected.sources[{}].serviceAccountToken", here, j),
                         "must not be specified when serviceAccountName is not set");
  }
  return names;
}

}  // namespace

void validate_pod_spec(const Json& spec, std::string path, FieldErrors& errors) {
  const auto volumes = validate_volumes(spec, path, errors);
  std::set<std::string> names;
  const auto& containers = array_at(spec, {"containers"});
  if (containers.empty()) errors.required(path + ".containers");
  auto each = [&](std::string_view list, bool init) {
    const auto& items = array_at(spec, {list});
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto here = at(path, list, i);
      validate_container(items[i], here, init, volumes, errors);
      const auto name = std::string(string_at(items[i], {"name"}));
      if (!name.empty() && !names.insert(name).second) errors.duplicate(here + ".name", Json(name));
    }
  };
  each("containers", false);
  each("initContainers", true);
  one_of(spec, "restartPolicy", path, {"Always", "OnFailure", "Never"}, errors);
  one_of(spec, "dnsPolicy", path, {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
         errors);
  for (const auto& [key, value] : object_at(spec, {"nodeSelector"})) {
    if (auto why = check_qualified_name(key); !why.empty())
      errors.invalid(path + ".nodeSelector", Json(std::string(key)), why);
    if (value.is_string())
      if (auto why = check_label_value(value.get_string()); !why.empty())
        errors.invalid(path + ".nodeSelector", value, why);
  }
  if (const auto name = string_at(spec, {"serviceAccountName"}); !name.empty())
    if (auto why = check_dns1123_subdomain(name); !why.empty())
      errors.invalid(path + ".serviceAccountName", Json(name), why);
  for (const auto* field : {"hostname", "subdomain"})
    if (const auto name = string_at(spec, {field}); !name.empty())
      if (auto why = check_dns1123_label(name); !why.empty())
        errors.invalid(at(path, field), Json(name), why);
  if (const auto* seconds = find(spec, {"activeDeadlineSeconds"}); seconds && seconds->is_int64())
    if (seconds->get_int64() < 1 || seconds->get_int64() > 2147483647)
      errors.invalid(path + ".activeDeadlineSeconds", *seconds,
                     "must be between 1 and 2147483647, inclusive");
  if (int_at(spec, {"terminationGracePeriodSeconds"}) < 0)
    errors.invalid(path + ".terminationGracePeriodSeconds",
                   Json(int_at(spec, {"terminationGracePeriodSeconds"})),
                   "must be greater than or equal to 0");
  const auto& tolerations = array_at(spec, {"tolerations"});
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const auto here = at(path, "tolerations", i);
    const auto op = string_at(tolerations[i], {"operator"});
    if (string_at(tolerations[i], {"key"}).empty() && op != "Exists")
      errors.invalid(here + ".operator", Json(op),
                     "operator must be Exists when `key` is empty, which means \"match all values "
                     "and all keys\"");
    if (op == "Exists" && !string_at(tolerations[i], {"value"}).empty())
      errors.invalid(here + ".operator", Json(string_at(tolerations[i], {"value"})),
                     "value must be empty when `operator` is 'Exists'");
    if (!op.empty() && op != "Exists" && op != "Equal" && op != "Gt" && op != "Lt")
      errors.not_supported(here + ".operator", Json(op), {"Equal", "Exists"});
  }
}

void validate_pod(const Json& pod, FieldErrors& errors) {
  static const Json kEmpty = JsonObject{};
  const auto* spec = find(pod, {"spec"});
  validate_pod_spec(spec ? *spec : kEmpty, "spec", errors);
}

void validate_pod_update(const Json& pod, const Json& old, FieldErrors& errors) {
  // Only images, deadlines, tolerations (added) and scheduling gates (removed) may change; the node
  // is set by binding.
  auto bare = [](const Json& object) {
    Json spec = object_at(object, {"spec"});
    auto& members = spec.get_object();
    for (const auto* field : {"activeDeadlineSeconds", "terminationGracePeriodSeconds",
                              "tolerations", "schedulingGates", "ephemeralContainers"})
      members.erase(field);
    for (const auto* list : {"containers", "initContainers"})
      if (auto* items = members.if_contains(list); items && items->is_array())
        for (auto& item : items->get_array())
          if (item.is_object()) item.get_object().erase("image");
    return spec;
  };
  if (string_at(old, {"spec", "nodeName"}).empty() &&
      !string_at(pod, {"spec", "nodeName"}).empty()) {
    Json moved = pod;
    object_made_at(moved, {"spec"}).erase("nodeName");
    if (bare(moved) == bare(old)) return;  // binding
  }
  if (bare(pod) != bare(old))
    errors.forbidden(
        "spec",
        "pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec."
        "activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
        "was previously negative)");
  const auto& before = array_at(old, {"spec", "tolerations"});
  const auto& after = array_at(pod, {"spec", "tolerations"});
  for (const auto& toleration : before)
    if (std::find(after.begin(), after.end(), toleration) == after.end()) {
      errors.forbidden("spec.tolerations",
                       "existing toleration can not be modified except its tolerationSeconds");
      break;
    }
}

}  // namespace manta::local
