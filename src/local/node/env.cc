#include "local/node/env.h"

#include "base/hash.h"
#include "base/quantity.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace manta::local {

static const std::string* value_of(const Env& env, std::string_view name) {
  for (auto it = env.rbegin(); it != env.rend(); ++it)
    if (it->first == name) return &it->second;
  return nullptr;
}

static void set(Env& env, std::string name, std::string value) {
  const auto found = std::ranges::find(env, name, &std::pair<std::string, std::string>::first);
  if (found == env.end())
    env.emplace_back(std::move(name), std::move(value));
  else
    found->second = std::move(value);
}

std::string expand(std::string_view text, const Env& env) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == '$') {
      out += '$';
      ++i;
    } else if (const auto close = text.find(')', i);
               text[i + 1] == '(' && close != std::string_view::npos) {
      const auto* value = value_of(env, text.substr(i + 2, close - i - 2));
      out += value != nullptr ? std::string_view(*value) : text.substr(i, close - i + 1);
      i = close;
    } else {
      out += '$';
    }
  }
  return out;
}

void collect_env_objects(const PodSpec& pod, PodObjects& needed) {
  auto add = [&](const Json& holder, std::string_view map_key, std::string_view secret_key) {
    if (const auto name = string_at(holder, {map_key, "name"}); !name.empty())
      needed.config_maps.try_emplace(std::string(name));
    if (const auto name = string_at(holder, {secret_key, "name"}); !name.empty())
      needed.secrets.try_emplace(std::string(name));
  };
  for (const auto& container : pod.containers) {
    for (const auto& source : array_at(*container.document, {"envFrom"}))
      add(source, "configMapRef", "secretRef");
    for (const auto& entry : array_at(*container.document, {"env"}))
      if (const Json* from = find(entry, {"valueFrom"}))
        add(*from, "configMapKeyRef", "secretKeyRef");
  }
}

Result<kube::StringMap> object_data(const Json& object, bool secret) {
  kube::StringMap data;
  for (const auto& [key, value] : object_at(object, {"data"})) {
    if (!value.is_string()) continue;
    const std::string_view text(value.as_string());
    if (!secret) {
      data[std::string(key)] = text;
      continue;
    }
    auto plain = base64_decode(text);
    if (!plain) return failed(plain.error().in(fmt::format("key {}", std::string_view(key))));
    data[std::string(key)] = std::move(*plain);
  }
  for (const auto& [key, value] : object_at(object, {"binaryData"})) {
    if (!value.is_string()) continue;
    auto plain = base64_decode(std::string_view(value.as_string()));
    if (!plain) return failed(plain.error().in(fmt::format("key {}", std::string_view(key))));
    data[std::string(key)] = std::move(*plain);
  }
  return data;
}

namespace {

/// Null: optional and not there.
Result<const Json*> find_object(const PodObjects& objects, std::string_view name, bool secret,
                                bool optional) {
  const auto& map = secret ? objects.secrets : objects.config_maps;
  const auto found = map.find(name);
  if (found != map.end() && found->second) return &*found->second;
  if (optional) return nullptr;
  return failed(ErrorCode::NotFound,
                fmt::format("{} \"{}\" not found", secret ? "secret" : "configmap", name));
}

Result<void> add_env_from(const PodSpec& pod, const Json& source, const PodObjects& objects,
                          Env& env) {
  for (const bool secret : {false, true}) {
    const Json* reference = find(source, {secret ? "secretRef" : "configMapRef"});
    if (reference == nullptr) continue;
    auto object = find_object(objects, string_at(*reference, {"name"}), secret,
                              bool_at(*reference, {"optional"}));
    if (!object) return failed(object.error());
    if (*object == nullptr) continue;
    auto data = object_data(**object, secret);
    if (!data) return failed(data.error());
    for (auto& [key, value] : *data)
      set(env, std::string(string_at(source, {"prefix"})) + key, std::move(value));
  }
  return {};
}

/// Nothing: an optional reference without a value, so no variable.
Result<std::optional<std::string>> value_from(const PodSpec& pod, const ContainerSpec& container,
                                              const Json& from, const EnvContext& context) {
  if (const Json* field = find(from, {"fieldRef"})) {
    auto value = resolve_field(pod, context.node, context.pod_ip, string_at(*field, {"fieldPath"}));
    if (!value) return failed(value.error());
    return std::optional(std::move(*value));
  }
  if (const Json* resource = find(from, {"resourceFieldRef"})) {
    const auto name = string_at(*resource, {"containerName"});
    auto value = resolve_resource(pod, name.empty() ? &container : pod.container(name),
                                  context.node, *resource);
    if (!value) return failed(value.error());
    return std::optional(std::move(*value));
  }
  for (const bool secret : {false, true}) {
    const Json* reference = find(from, {secret ? "secretKeyRef" : "configMapKeyRef"});
    if (reference == nullptr) continue;
    const bool optional = bool_at(*reference, {"optional"});
    const auto name = string_at(*reference, {"name"});
    auto object = find_object(context.objects, name, secret, optional);
    if (!object) return failed(object.error());
    if (*object == nullptr) return std::optional<std::string>{};
    auto data = object_data(**object, secret);
    if (!data) return failed(data.error());
    const auto key = string_at(*reference, {"key"});
    const auto found = data->find(key);
    if (found != data->end()) return std::optional(found->second);
    if (optional) return std::optional<std::string>{};
    return failed(ErrorCode::NotFound,
                  fmt::format("couldn't find key {} in {} {}/{}", key,
                              secret ? "Secret" : "ConfigMap", pod.meta.key.namespace_, name));
  }
  return failed(ErrorCode::Invalid,
                "valueFrom names no source this node knows (fieldRef, resourceFieldRef, "
                "configMapKeyRef, secretKeyRef)");
}

std::string variable_name(std::string_view text) {
  std::string name(text);
  for (auto& c : name)
    c = c == '-' || c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

/// REDIS_SERVICE_HOST, REDIS_PORT_6379_TCP, … Source: Kubernetes, "Service environment variables".
void add_service(const ServiceEnv& service, Env& env) {
  if (service.ports.empty()) return;
  const auto name = variable_name(service.name);
  set(env, name + "_SERVICE_HOST", service.cluster_ip);
  set(env, name + "_SERVICE_PORT", std::to_string(service.ports[0].port));
  for (const auto& port : service.ports)
    if (!port.name.empty())
      set(env, name + "_SERVICE_PORT_" + variable_name(port.name), std::to_string(port.port));
  bool first = true;
  for (const auto& port : service.ports) {
    const std::string protocol = lower_case(port.protocol);
    const auto url = fmt::format("{}://{}:{}", protocol, service.cluster_ip, port.port);
    if (first) set(env, name + "_PORT", url);
    first = false;
    const auto prefix = fmt::format("{}_PORT_{}_{}", name, port.port, port.protocol);
    set(env, prefix, url);
    set(env, prefix + "_PROTO", protocol);
    set(env, prefix + "_PORT", std::to_string(port.port));
    set(env, prefix + "_ADDR", service.cluster_ip);
  }
}

}  // namespace

Result<Env> build_env(const PodSpec& pod, const ContainerSpec& container,
                      const EnvContext& context) {
  Env env;
  const bool links = bool_at(*pod.document, {"spec", "enableServiceLinks"}, true);
  for (const auto& service : context.services)
    if (links || service.name == "kubernetes") add_service(service, env);
  for (const auto& source : array_at(*container.document, {"envFrom"}))
    if (auto added = add_env_from(pod, source, context.objects, env); !added)
      return failed(added.error());
  for (const auto& entry : array_at(*container.document, {"env"})) {
    const std::string name(string_at(entry, {"name"}));
    const Json* from = find(entry, {"valueFrom"});
    if (from == nullptr || !from->is_object()) {
      set(env, name, expand(string_at(entry, {"value"}), env));
      continue;
    }
    auto value = value_from(pod, container, *from, context);
    if (!value) return failed(value.error());
    if (*value) set(env, name, std::move(**value));
  }
  // Below all of that: what the image and the node say.
  for (const auto& [name, value] : context.image)
    if (value_of(env, name) == nullptr) env.emplace_back(name, value);
  if (value_of(env, "HOSTNAME") == nullptr) env.emplace_back("HOSTNAME", pod.hostname);
  return env;
}

Result<std::string> resolve_field(const PodSpec& pod, const NodeFacts& node,
                                  std::string_view pod_ip, std::string_view path) {
  const auto& meta = pod.meta;
  if (path == "metadata.name") return meta.key.name;
  if (path == "metadata.namespace") return meta.key.namespace_;
  if (path == "metadata.uid") return meta.uid;
  if (path == "spec.nodeName") return pod.node_name;
  if (path == "spec.serviceAccountName") return pod.service_account;
  if (path == "status.hostIP" || path == "status.hostIPs") return node.host_ip;
  if (path == "status.podIP" || path == "status.podIPs") return std::string(pod_ip);
  for (const bool labels : {true, false}) {
    const std::string_view list = labels ? "metadata.labels" : "metadata.annotations";
    if (!path.starts_with(list)) continue;
    const auto& map = labels ? meta.labels : meta.annotations;
    auto rest = path.substr(list.size());
    if (rest.empty()) {  // downwardAPI files: all of them
      std::string text;
      for (const auto& [key, value] : map) text += key + "=" + dump_json(Json(value)) + "\n";
      if (!text.empty()) text.pop_back();
      return text;
    }
    if (rest.starts_with("['") && rest.ends_with("']")) {
      const auto found = map.find(rest.substr(2, rest.size() - 4));
      return found == map.end() ? std::string() : found->second;
    }
  }
  return failed(ErrorCode::Invalid,
                fmt::format("fieldPath \"{}\" is not supported (metadata.name, .namespace, .uid, "
                            ".labels['KEY'], .annotations['KEY'], spec.nodeName, "
                            "spec.serviceAccountName, status.hostIP(s), status.podIP(s))",
                            path));
}

Result<std::string> resolve_resource(const PodSpec& pod, const ContainerSpec* container,
                                     const NodeFacts& node, const Json& reference) {
  const auto resource = string_at(reference, {"resource"});
  if (container == nullptr)
    return failed(ErrorCode::Invalid, fmt::format("resourceFieldRef: no container \"{}\"",
                                                  string_at(reference, {"containerName"})));
  const auto dot = resource.find('.');
  const auto list = resource.substr(0, dot);
  const auto name = dot == std::string_view::npos ? std::string_view() : resource.substr(dot + 1);
  if (list != "limits" && list != "requests")
    return failed(
        ErrorCode::Invalid,
        fmt::format("resourceFieldRef.resource \"{}\" must be limits.NAME or requests.NAME",
                    resource));
  const auto& r = container->resources;
  Quantity value;
  if (name == "cpu") {
    const auto given = list == "limits" ? r.cpu_limit_milli : r.cpu_request_milli;
    value = Quantity::from_milli(given.value_or(list == "limits" ? node.cpu_milli : 0));
  } else if (name == "memory") {
    const auto given = list == "limits" ? r.memory_limit : r.memory_request;
    value = Quantity::from_int(given.value_or(list == "limits" ? node.memory : 0));
  } else {
    const Json* given = find(*container->document, {"resources", list, name});
    if (given != nullptr && given->is_string())
      if (auto parsed = Quantity::parse(std::string_view(given->as_string()))) value = *parsed;
  }
  const Json* divisor_json = find(reference, {"divisor"});
  Quantity divisor = Quantity::from_int(1);
  if (divisor_json != nullptr) {
    auto parsed = Quantity::parse(divisor_json->is_string() ? std::string(divisor_json->as_string())
                                                            : dump_json(*divisor_json));
    if (!parsed) return failed(parsed.error().in("resourceFieldRef.divisor"));
    if (!parsed->is_zero()) divisor = *parsed;
  }
  // Both in thousandths where that is exact; rounded up as the kubelet does.
  if (divisor < Quantity::from_int(1)) {
    const auto d = std::max<std::int64_t>(1, divisor.milli_value());
    return std::to_string((value.milli_value() + d - 1) / d);
  }
  const auto d = divisor.value();
  return std::to_string((value.value() + d - 1) / d);
}

std::vector<std::string> build_argv(const ContainerSpec& container,
                                    const std::vector<std::string>& entrypoint,
                                    const std::vector<std::string>& image_command, const Env& env) {
  std::vector<std::string> argv =
      container.command.empty() ? entrypoint : std::vector<std::string>{};
  for (const auto& word : container.command) argv.push_back(expand(word, env));
  if (!container.args.empty())
    for (const auto& word : container.args) argv.push_back(expand(word, env));
  else if (container.command.empty())
    argv.insert(argv.end(), image_command.begin(), image_command.end());
  return argv;
}

}  // namespace manta::local
