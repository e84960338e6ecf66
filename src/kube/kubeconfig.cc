#include "kube/kubeconfig.h"

#include "base/hash.h"
#include "kube/http_url.h"
#include "kube/kubeconfig_internal.h"

#include <boost/json/string.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <sstream>

namespace manta::kube {
namespace {

using kubeconfig_detail::read_text_file;

std::string variable(const StringMap& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::string text_at(const Json& value, std::initializer_list<std::string_view> path) {
  return std::string(string_at(value, path));
}

std::unexpected<Error> invalid(std::string message) {
  return failed(ErrorCode::Invalid, std::move(message));
}

const Json* named(const Json& kubeconfig, std::string_view list, std::string_view name,
                  std::string_view inner) {
  for (const auto& item : array_at(kubeconfig, {list}))
    if (string_at(item, {"name"}) == name) return find(item, {inner});
  return nullptr;
}

std::string names_of(const Json& kubeconfig, std::string_view list) {
  std::string names;
  for (const auto& item : array_at(kubeconfig, {list})) {
    if (!names.empty()) names += ", ";
    names += string_at(item, {"name"});
  }
  return names.empty() ? "none" : names;
}

// The text of `<field>-data` (base64), else of the file that `<field>` names, else "".
Result<std::string> data_or_file(const Json& object, const std::string& field) {
  if (const auto data = string_at(object, {field + "-data"}); !data.empty()) {
    auto text = base64_decode(data);
    if (!text) return failed(text.error().in(field + "-data"));
    return text;
  }
  const auto file = text_at(object, {field});
  if (file.empty()) return std::string();
  auto text = read_text_file(file);
  if (!text) return failed(text.error().in(field));
  return text;
}

Result<void> read_cluster(const Json& cluster, ClientConfig& config) {
  config.server = text_at(cluster, {"server"});
  if (config.server.empty()) return invalid("server is missing");
  auto ca = data_or_file(cluster, "certificate-authority");
  if (!ca) return failed(std::move(ca.error()));
  config.ca_pem = std::move(*ca);
  config.tls_server_name = text_at(cluster, {"tls-server-name"});
  config.insecure_skip_tls_verify = bool_at(cluster, {"insecure-skip-tls-verify"});
  config.proxy_url = text_at(cluster, {"proxy-url"});
  // client-go: a bare host:port is HTTPS when anything about TLS is said, else HTTP.
  if (config.server.find("://") == std::string::npos) {
    const bool tls = !config.ca_pem.empty() || config.insecure_skip_tls_verify;
    config.server = (tls ? "https://" : "http://") + config.server;
  }
  const auto url = parse_url(config.server);
  if (!url) return failed(url.error().in("server"));
  if (config.insecure_skip_tls_verify && !config.ca_pem.empty())
    return invalid("certificate-authority and insecure-skip-tls-verify exclude each other");
  return {};
}

Result<ExecPlugin> read_exec(const Json& exec, const Json& cluster) {
  ExecPlugin plugin{.apiVersion = text_at(exec, {"apiVersion"}),
                    .command = text_at(exec, {"command"}),
                    .installHint = text_at(exec, {"installHint"}),
                    .interactiveMode = text_at(exec, {"interactiveMode"})};
  if (plugin.command.empty()) return invalid("exec.command is missing");
  const bool v1 = plugin.apiVersion == "client.authentication.k8s.io/v1";
  if (!v1 && plugin.apiVersion != "client.authentication.k8s.io/v1beta1")
    return invalid(
        fmt::format("exec.apiVersion {:?} must be client.authentication.k8s.io/v1 or "
                    "client.authentication.k8s.io/v1beta1",
                    plugin.apiVersion));
  if (plugin.interactiveMode.empty() && v1)
    return invalid("exec.interactiveMode is missing; allowed are Never, IfAvailable and Always");
  if (plugin.interactiveMode.empty()) plugin.interactiveMode = "IfAvailable";
  if (plugin.interactiveMode != "Never" && plugin.interactiveMode != "IfAvailable" &&
      plugin.interactiveMode != "Always")
    return invalid(fmt::format("exec.interactiveMode {:?} must be Never, IfAvailable or Always",
                               plugin.interactiveMode));
  for (const auto& argument : array_at(exec, {"args"}))
    if (const auto* text = argument.if_string())
      plugin.args.emplace_back(text->data(), text->size());
  for (const auto& item : array_at(exec, {"env"}))
    plugin.env.emplace_back(text_at(item, {"name"}), text_at(item, {"value"}));
  if (bool_at(exec, {"provideClusterInfo"})) {
    JsonObject info;
    for (const auto* field : {"server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url"})
      if (const auto* value = find(cluster, {field})) info[field] = *value;
    auto ca = data_or_file(cluster, "certificate-authority");
    if (ca && !ca->empty()) info["certificate-authority-data"] = base64_encode(*ca);
    for (const auto& extension : array_at(cluster, {"extensions"}))
      if (string_at(extension, {"name"}) == "client.authentication.k8s.io/exec")
        if (const auto* value = find(extension, {"extension"})) info["config"] = *value;
    plugin.cluster = std::move(info);
  }
  return plugin;
}

Result<void> read_user(const Json& user, const Json& cluster, ClientConfig& config) {
  if (const auto* provider = find(user, {"auth-provider"}))
    return invalid(fmt::format(
        "auth-provider {:?} is not supported (Kubernetes removed these in 1.26); use exec",
        string_at(*provider, {"name"})));
  auto cert = data_or_file(user, "client-certificate");
  if (!cert) return failed(std::move(cert.error()));
  auto key = data_or_file(user, "client-key");
  if (!key) return failed(std::move(key.error()));
  if (cert->empty() != key->empty())
    return invalid(cert->empty() ? "client-key is given without client-certificate"
                                 : "client-certificate is given without client-key");
  config.client_cert_pem = std::move(*cert);
  config.client_key_pem = std::move(*key);
  config.token = text_at(user, {"token"});
  config.token_file = text_at(user, {"tokenFile"});
  config.username = text_at(user, {"username"});
  config.password = text_at(user, {"password"});
  config.impersonate_user = text_at(user, {"as"});
  config.impersonate_uid = text_at(user, {"as-uid"});
  for (const auto& group : array_at(user, {"as-groups"}))
    if (const auto* text = group.if_string())
      config.impersonate_groups.emplace_back(text->data(), text->size());
  if (const auto* exec = find(user, {"exec"}); exec && !exec->is_null()) {
    auto plugin = read_exec(*exec, cluster);
    if (!plugin) return failed(std::move(plugin.error()));
    config.exec = std::move(*plugin);
  }
  return {};
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

Result<ClientConfig> from_files(const ConfigSource& source, const std::vector<std::string>& files,
                                bool must_exist) {
  const auto place = fmt::format("kubeconfig {}", fmt::join(files, ", "));
  auto kubeconfig = load_kubeconfig(files, must_exist);
  if (!kubeconfig) return failed(std::move(kubeconfig.error()));
  if (kubeconfig->get_object().empty())
    return failed(ErrorCode::NotFound,
                  fmt::format("{}: no such file, or no cluster, user or context in it", place));
  auto config = client_config_from(*kubeconfig, source.context_flag);
  if (!config) return failed(config.error().in(place));
  config->source = place;
  config->environment = source.environment;
  return config;
}

}  // namespace

Result<ClientConfig> client_config_from(const Json& kubeconfig, std::string_view context_name) {
  ClientConfig config;
  config.context =
      context_name.empty() ? text_at(kubeconfig, {"current-context"}) : std::string(context_name);
  if (config.context.empty())
    return invalid(fmt::format("current-context is not set; contexts are: {}",
                               names_of(kubeconfig, "contexts")));
  const auto* context = named(kubeconfig, "contexts", config.context, "context");
  if (!context)
    return invalid(fmt::format("there is no context {:?}; contexts are: {}", config.context,
                               names_of(kubeconfig, "contexts")));
  const auto cluster_name = text_at(*context, {"cluster"});
  const auto* cluster = named(kubeconfig, "clusters", cluster_name, "cluster");
  if (!cluster)
    return invalid(
        fmt::format("context {:?} names cluster {:?}, which is not there; clusters are: {}",
                    config.context, cluster_name, names_of(kubeconfig, "clusters")));
  if (const auto name = string_at(*context, {"namespace"}); !name.empty()) config.namespace_ = name;
  if (auto read = read_cluster(*cluster, config); !read)
    return failed(read.error().in(fmt::format("cluster {:?}", cluster_name)));
  const auto user_name = text_at(*context, {"user"});
  if (user_name.empty()) return config;  // anonymous
  const auto* user = named(kubeconfig, "users", user_name, "user");
  if (!user)
    return invalid(fmt::format("context {:?} names user {:?}, which is not there; users are: {}",
                               config.context, user_name, names_of(kubeconfig, "users")));
  if (auto read = read_user(*user, *cluster, config); !read)
    return failed(read.error().in(fmt::format("user {:?}", user_name)));
  return config;
}

Result<ClientConfig> load_in_cluster_config(const ConfigSource& source) {
  const auto host = variable(source.environment, "KUBERNETES_SERVICE_HOST");
  const auto port = variable(source.environment, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    return failed(
        ErrorCode::NotFound,
        "not in a cluster: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set");
  ClientConfig config{.source = "the Pod's service account in " + source.service_account_dir};
  const bool ipv6 = host.find(':') != std::string::npos;
  config.server = fmt::format("https://{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
  if (const auto url = parse_url(config.server); !url)
    return failed(url.error().in("KUBERNETES_SERVICE_HOST and _PORT"));
  config.token_file = source.service_account_dir + "/token";
  auto token = read_text_file(config.token_file);
  if (!token) return failed(token.error().in("in-cluster configuration"));
  auto ca = read_text_file(source.service_account_dir + "/ca.crt");
  if (ca) config.ca_pem = std::move(*ca);  // without one the system's roots count, as in client-go
  if (auto name = read_text_file(source.service_account_dir + "/namespace"); name && !name->empty())
    config.namespace_ = name->substr(0, name->find_first_of("\r\n"));
  config.environment = source.environment;
  return config;
}

Result<ClientConfig> load_client_config(const ConfigSource& source) {
  if (!source.kubeconfig_flag.empty()) return from_files(source, {source.kubeconfig_flag}, true);
  const auto listed = split(variable(source.environment, "KUBECONFIG"), ':');
  if (!listed.empty()) return from_files(source, listed, false);
  std::string why_not = "in-cluster configuration is off";
  if (source.allow_in_cluster) {
    auto config = load_in_cluster_config(source);
    if (config) return config;
    why_not = config.error().message;
  }
  const auto home = variable(source.environment, "HOME");
  auto config = from_files(source, {home + "/.kube/config"}, false);
  if (config || config.error().code != ErrorCode::NotFound) return config;
  return failed(
      ErrorCode::NotFound,
      fmt::format("no cluster is configured: --kubeconfig and KUBECONFIG are not set; {}; {}",
                  why_not, config.error().message));
}

ConfigSource ConfigSource::of_process(std::string kubeconfig_flag, std::string context_flag) {
  ConfigSource source{.kubeconfig_flag = std::move(kubeconfig_flag),
                      .context_flag = std::move(context_flag)};
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos)
      source.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return source;
}

}  // namespace manta::kube
