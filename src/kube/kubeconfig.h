// How to reach and authenticate to a cluster: kubeconfig files and the in-cluster service account.
//
//   auto config = load_client_config(ConfigSource::of_process(flags.kubeconfig));
//   if (!config) return fail(config.error());  // says what is missing and where it was looked for
#pragma once

#include "base/json.h"
#include "kube/object.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace manta::kube {

/// A program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string apiVersion = {};
  std::string command = {};
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  std::string installHint = {};
  std::string interactiveMode = {};  // Never, IfAvailable, Always
  Json cluster = {};                 // spec.cluster for the plugin; null unless provideClusterInfo
};

struct ClientConfig {
  std::string server = {};  // https://host:port, maybe with a path
  std::string namespace_ = "default";
  std::string context = {};  // name of the kubeconfig context; empty in a cluster
  std::string source = {};   // where it was found, for messages

  std::string ca_pem = {};
  std::string tls_server_name = {};
  bool insecure_skip_tls_verify = false;
  std::string proxy_url = {};  // empty: the environment's proxies

  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  std::string token = {};
  std::string token_file = {};  // wins over token; read again as it rotates
  std::string username = {};
  std::string password = {};
  std::optional<ExecPlugin> exec = {};
  std::string impersonate_user = {};
  std::string impersonate_uid = {};
  std::vector<std::string> impersonate_groups = {};

  StringMap environment = {};  // for proxies and the exec plugin
};

struct ConfigSource {
  std::string kubeconfig_flag = {};  // --kubeconfig: must exist when set
  std::string context_flag = {};     // --context: instead of current-context
  StringMap environment = {};
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
  bool allow_in_cluster = true;

  /// With this process's environment.
  static ConfigSource of_process(std::string kubeconfig_flag, std::string context_flag = {});
};

/// The first of: the flag, KUBECONFIG (a list of files that are merged), the Pod's service account,
/// ~/.kube/config. Source: spec/07 §14, client-go's clientcmd and controller-runtime's config.
Result<ClientConfig> load_client_config(const ConfigSource& source);
/// The Pod's service account: KUBERNETES_SERVICE_HOST and _PORT, token, ca.crt and namespace.
Result<ClientConfig> load_in_cluster_config(const ConfigSource& source);

/// Reads and merges: for each name the first file that has it wins, and so for current-context.
/// Relative file names inside become absolute. Missing files are skipped unless `must_exist`.
Result<Json> load_kubeconfig(const std::vector<std::string>& files, bool must_exist);
/// The cluster and user of a context (empty: current-context) of a merged kubeconfig.
Result<ClientConfig> client_config_from(const Json& kubeconfig, std::string_view context);

}  // namespace manta::kube
