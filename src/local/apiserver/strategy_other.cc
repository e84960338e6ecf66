// The smaller kinds: configuration, storage, networking, RBAC, events.
#include "base/hash.h"
#include "fmt/format.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/name_rules.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <algorithm>
#include <set>

namespace manta::local {
namespace {

bool is_config_key(std::string_view key) {
  if (key.empty() || key.size() > 253 || key == "." || key.starts_with("..")) return false;
  for (const char c : key)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.')
      return false;
  return true;
}

void check_config_key(std::string_view field, std::string_view key, FieldErrors& errors) {
  if (!is_config_key(key))
    errors.invalid(
        fmt::format("{}[{}]", field, key), Json(key),
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
        "'[-._a-zA-Z0-9]+')");
}

constexpr std::int64_t kMaxSecret = 1 << 20;

void immutable_data(const Json& object, const Json& old, FieldErrors& errors) {
  if (!bool_at(old, {"immutable"})) return;
  if (!bool_at(object, {"immutable"}))
    errors.forbidden("immutable", "field is immutable when `immutable` is set");
  for (const auto* field : {"data", "binaryData"})
    if (object_at(object, {field}) != object_at(old, {field}))
      errors.forbidden(field, "field is immutable when `immutable` is set");
}

}  // namespace

void default_secret(Json& secret) {
  auto& members = secret.get_object();
  set_default(members, "type", "Opaque");
  // stringData is for writing only.
  if (const auto* plain = members.if_contains("stringData"); plain && plain->is_object()) {
    const JsonObject copy = plain->get_object();
    members.erase("stringData");
    auto& data = object_made_at(secret, {"data"});
    for (const auto& [key, value] : copy)
      if (value.is_string()) data[key] = base64_encode(value.get_string());
  }
}

void validate_secret(const Json& secret, FieldErrors& errors) {
  std::int64_t total = 0;
  for (const auto& [key, value] : object_at(secret, {"data"})) {
    check_config_key("data", key, errors);
    if (value.is_string()) total += static_cast<std::int64_t>(value.get_string().size() * 3 / 4);
  }
  if (total > kMaxSecret) errors.too_long("data", kMaxSecret);
  const std::string type(string_at(secret, {"type"}));
  auto need = [&](std::string_view key) {
    if (!object_at(secret, {"data"}).contains(key)) errors.required(fmt::format("data[{}]", key));
  };
  if (type == "kubernetes.io/tls") need("tls.crt"), need("tls.key");
  if (type == "kubernetes.io/dockerconfigjson") need(".dockerconfigjson");
  if (type == "kubernetes.io/ssh-auth") need("ssh-privatekey");
}

void validate_secret_update(const Json& secret, const Json& old, FieldErrors& errors) {
  if (string_at(secret, {"type"}) != string_at(old, {"type"}))
    errors.invalid("type", Json(string_at(secret, {"type"})), "field is immutable");
  immutable_data(secret, old, errors);
}

void validate_config_map(const Json& map, FieldErrors& errors) {
  std::int64_t total = 0;
  for (const auto* field : {"data", "binaryData"})
    for (const auto& [key, value] : object_at(map, {field})) {
      check_config_key(field, key, errors);
      if (value.is_string()) total += static_cast<std::int64_t>(value.get_string().size());
    }
  if (total > kMaxSecret) errors.too_long("", kMaxSecret);
}

void validate_config_map_update(const Json& map, const Json& old, FieldErrors& errors) {
  immutable_data(map, old, errors);
}

void default_claim(Json& claim) {
  auto& spec = object_made_at(claim, {"spec"});
  set_default(spec, "volumeMode", "Filesystem");
  set_default(object_made_at(claim, {"status"}), "phase", "Pending");
}

/// Taken away again when nothing uses the claim: rest_delete.cc.
Result<void> prepare_claim(Rest&, const Kind&, Json& claim) {
  auto& metadata = object_made_at(claim, {"metadata"});
  JsonArray finalizers = array_at(claim, {"metadata", "finalizers"});
  if (std::find(finalizers.begin(), finalizers.end(), Json(kClaimProtection)) == finalizers.end())
    finalizers.push_back(Json(kClaimProtection));
  metadata["finalizers"] = std::move(finalizers);
  return {};
}

void validate_claim(const Json& claim, FieldErrors& errors) {
  if (array_at(claim, {"spec", "accessModes"}).empty())
    errors.required("spec.accessModes", "at least 1 access mode is required");
  if (!find(claim, {"spec", "resources", "requests", "storage"}))
    errors.required("spec.resources[storage]");
}

Result<void> prepare_namespace(Rest&, const Kind&, Json& namespace_) {
  const auto name = std::string(string_at(namespace_, {"metadata", "name"}));
  object_made_at(namespace_, {"metadata", "labels"})["kubernetes.io/metadata.name"] = name;
  // The namespace controller empties this once the namespace's content is gone.
  object_made_at(namespace_, {"spec"})["finalizers"] = JsonArray{"kubernetes"};
  object_made_at(namespace_, {"status"})["phase"] = "Active";
  return {};
}

void default_node(Json& node) {
  auto& status = object_made_at(node, {"status"});
  set_default(status, "daemonEndpoints", JsonObject{{"kubeletEndpoint", JsonObject{{"Port", 0}}}});
  if (const auto* capacity = status.if_contains("capacity")) {
    Json copy = *capacity;
    set_default(status, "allocatable", std::move(copy));
  }
}

void default_autoscaler(Json& scaler) {
  auto& spec = object_made_at(scaler, {"spec"});
  set_default(spec, "minReplicas", 1);
  if (string_at(scaler, {"apiVersion"}) != "autoscaling/v2") return;
  set_default(spec, "metrics",
              JsonArray{JsonObject{
                  {"type", "Resource"},
                  {"resource", JsonObject{{"name", "cpu"},
                                          {"target", JsonObject{{"type", "Utilization"},
                                                                {"averageUtilization", 80}}}}}}});
  auto& status = object_made_at(scaler, {"status"});
  set_default(status, "desiredReplicas", 0);
  set_default(status, "currentMetrics", nullptr);
}

void default_disruption_budget(Json& budget) {
  auto& status = object_made_at(budget, {"status"});
  for (const auto* field :
       {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"})
    set_default(status, field, 0);
}

void default_resource_quota(Json& quota) { object_made_at(quota, {"status"}); }

void default_limit_range(Json& range) {
  each_object(object_made_at(range, {"spec"}), "limits", [](JsonObject& item) {
    const auto* type = item.if_contains("type");
    if (!type || *type != Json("Container")) return;
    auto fill = [&](std::string_view to, std::string_view from) {
      const auto* source = item.if_contains(from);
      if (!source || !source->is_object()) return;
      const JsonObject copy = source->get_object();
      auto& target = item[to];
      if (!target.is_object()) target = JsonObject{};
      for (const auto& [name, amount] : copy) set_default(target.get_object(), name, amount);
    };
    fill("default", "max");
    fill("defaultRequest", "default");
    fill("defaultRequest", "min");
  });
}

void default_network_policy(Json& policy) {
  auto& spec = object_made_at(policy, {"spec"});
  set_default(spec, "podSelector", JsonObject{});
  if (!spec.contains("policyTypes")) {
    JsonArray types{"Ingress"};
    if (spec.contains("egress")) types.push_back("Egress");
    spec["policyTypes"] = std::move(types);
  }
  for (const auto* direction : {"ingress", "egress"})
    each_object(spec, direction, [](JsonObject& rule) {
      each_object(rule, "ports", [](JsonObject& port) { set_default(port, "protocol", "TCP"); });
    });
}

void default_ingress(Json& ingress) {
  set_default(object_made_at(ingress, {"status"}), "loadBalancer", JsonObject{});
}

void validate_ingress(const Json& ingress, FieldErrors& errors) {
  const auto& rules = array_at(ingress, {"spec", "rules"});
  if (rules.empty() && !find(ingress, {"spec", "defaultBackend"}))
    errors.invalid("spec", Json(object_at(ingress, {"spec"})),
                   "either `defaultBackend` or `rules` must be specified");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& paths = array_at(rules[i], {"http", "paths"});
    for (std::size_t j = 0; j < paths.size(); ++j) {
      const auto at = fmt::format("spec.rules[{}].http.paths[{}]", i, j);
      const std::string type(string_at(paths[j], {"pathType"}));
      if (type.empty())
        errors.required(at + ".pathType", "pathType must be specified");
      else if (type != "Exact" && type != "Prefix" && type != "ImplementationSpecific")
        errors.not_supported(at + ".pathType", Json(type),
                             {"Exact", "ImplementationSpecific", "Prefix"});
      const std::string path(string_at(paths[j], {"path"}));
      if ((type == "Exact" || type == "Prefix") && !path.starts_with('/'))
        errors.invalid(at + ".path", Json(path), "must be an absolute path");
      if (string_at(paths[j], {"backend", "service", "name"}).empty() &&
          !find(paths[j], {"backend", "resource"}))
        errors.required(at + ".backend.service.name");
    }
  }
  if (const auto* name = find(ingress, {"spec", "ingressClassName"}); name && name->is_string())
    if (auto why = check_dns1123_subdomain(name->get_string()); !why.empty())
      errors.invalid("spec.ingressClassName", *name, why);
  // The older way to say it is checked the same once it reaches the API. spec/03 B
  if (const auto* name = find(ingress, {"metadata", "annotations", "kubernetes.io/ingress.class"});
      name && name->is_string() && find(ingress, {"spec", "ingressClassName"}))
    errors.invalid("metadata.annotations.kubernetes.io/ingress.class", *name,
                   "can not be set when the class field is also set");
}

void default_role_binding(Json& binding) {
  auto& ref = object_made_at(binding, {"roleRef"});
  const auto* group = ref.if_contains("apiGroup");
  if (!group || *group == Json("")) ref["apiGroup"] = "rbac.authorization.k8s.io";
  each_object(binding.get_object(), "subjects", [](JsonObject& subject) {
    const auto* kind = subject.if_contains("kind");
    if (kind && (*kind == Json("User") || *kind == Json("Group")))
      set_default(subject, "apiGroup", "rbac.authorization.k8s.io");
  });
}

void validate_role_binding(const Json& binding, FieldErrors& errors) {
  const std::string kind(string_at(binding, {"roleRef", "kind"}));
  if (kind != "Role" && kind != "ClusterRole")
    errors.not_supported("roleRef.kind", Json(kind), {"ClusterRole", "Role"});
  if (string_at(binding, {"roleRef", "name"}).empty()) errors.required("roleRef.name");
  const auto& subjects = array_at(binding, {"subjects"});
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const auto path = fmt::format("subjects[{}]", i);
    if (string_at(subjects[i], {"name"}).empty()) errors.required(path + ".name");
    const std::string type(string_at(subjects[i], {"kind"}));
    if (type != "ServiceAccount" && type != "User" && type != "Group")
      errors.not_supported(path + ".kind", Json(type), {"ServiceAccount", "User", "Group"});
  }
}

void validate_role_binding_update(const Json& binding, const Json& old, FieldErrors& errors) {
  if (object_at(binding, {"roleRef"}) != object_at(old, {"roleRef"}))
    errors.invalid("roleRef", Json(object_at(binding, {"roleRef"})), "cannot change roleRef");
}

void default_endpoints(Json& endpoints) {
  each_object(endpoints.get_object(), "subsets", [](JsonObject& subset) {
    each_object(subset, "ports", [](JsonObject& port) { set_default(port, "protocol", "TCP"); });
  });
}

void default_endpoint_slice(Json& slice) {
  each_object(slice.get_object(), "ports", [](JsonObject& port) {
    set_default(port, "name", "");
    set_default(port, "protocol", "TCP");
  });
}

void validate_endpoint_slice(const Json& slice, FieldErrors& errors) {
  const std::string type(string_at(slice, {"addressType"}));
  if (type.empty())
    errors.required("addressType");
  else if (type != "IPv4" && type != "IPv6" && type != "FQDN")
    errors.not_supported("addressType", Json(type), {"FQDN", "IPv4", "IPv6"});
  const auto& endpoints = array_at(slice, {"endpoints"});
  for (std::size_t i = 0; i < endpoints.size(); ++i)
    if (array_at(endpoints[i], {"addresses"}).empty())
      errors.required(fmt::format("endpoints[{}].addresses", i), "must contain at least 1 address");
}

void default_priority_class(Json& priority_class) {
  set_default(priority_class.get_object(), "preemptionPolicy", "PreemptLowerPriority");
}

void default_storage_class(Json& storage_class) {
  set_default(storage_class.get_object(), "reclaimPolicy", "Delete");
  set_default(storage_class.get_object(), "volumeBindingMode", "Immediate");
}

void validate_new_event(const Json& event, FieldErrors& errors) {
  const std::string micro(string_at(event, {"eventTime"}));
  if (micro.empty() && string_at(event, {"deprecatedFirstTimestamp"}).empty())
    errors.required("eventTime");
  if (micro.empty()) return;  // written the old way; core's rules are looser
  if (string_at(event, {"reportingController"}).empty()) errors.required("reportingController");
  if (string_at(event, {"reportingInstance"}).empty()) errors.required("reportingInstance");
  if (string_at(event, {"action"}).empty()) errors.required("action");
  if (string_at(event, {"reason"}).empty()) errors.required("reason");
  const std::string note(string_at(event, {"note"}));
  if (note.size() > 1024) errors.invalid("message", Json(""), "can have at most 1024 characters");
  const std::string type(string_at(event, {"type"}));
  if (type != "Normal" && type != "Warning") errors.invalid("", Json(""), "has invalid value");
  const std::string about(string_at(event, {"regarding", "namespace"}));
  if (!about.empty() && about != string_at(event, {"metadata", "namespace"}))
    errors.invalid("involvedObject.namespace", Json(about), "does not match event.namespace");
}

}  // namespace manta::local
