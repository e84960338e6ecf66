// A container's environment, command and arguments, as the kubelet makes them. Pure: what is
// referred to is fetched before.
#pragma once

#include "local/node/pod_spec.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace manta::local {

/// ConfigMaps and Secrets by name, in the Pod's namespace. A name that was looked for and does not
/// exist is there without a value.
struct PodObjects {
  std::map<std::string, std::optional<Json>, std::less<>> config_maps = {};
  std::map<std::string, std::optional<Json>, std::less<>> secrets = {};
};

struct NodeFacts {
  std::string host_ip = {};
  std::int64_t cpu_milli = 0;  // allocatable: what an absent limit reads as
  std::int64_t memory = 0;
};

/// A Service that containers hear of in their environment.
struct ServiceEnv {
  std::string name = {};
  std::string cluster_ip = {};
  struct Port {
    std::string name = {};
    std::string protocol = "TCP";
    int port = 0;
  };
  std::vector<Port> ports = {};
};

struct EnvContext {
  const PodObjects& objects;
  const NodeFacts& node;
  std::string pod_ip = {};
  std::vector<ServiceEnv> services = {};  // of the namespace (and default/kubernetes), by name
  kube::StringMap image = {};             // the image's own variables
};

using Env = std::vector<std::pair<std::string, std::string>>;

/// $(NAME) becomes its value, $$ a dollar; what is not known stays as written.
std::string expand(std::string_view text, const Env& env);

/// What the containers' env refers to: adds names without values.
void collect_env_objects(const PodSpec& pod, PodObjects& needed);

/// Fails with the kubelet's text when something referred to is missing (reason
/// CreateContainerConfigError).
Result<Env> build_env(const PodSpec& pod, const ContainerSpec& container,
                      const EnvContext& context);

/// metadata.name, metadata.labels['x'], spec.nodeName, status.podIP, …
Result<std::string> resolve_field(const PodSpec& pod, const NodeFacts& node,
                                  std::string_view pod_ip, std::string_view path);
/// limits.cpu, requests.memory, … divided by the divisor, rounded up.
Result<std::string> resolve_resource(const PodSpec& pod, const ContainerSpec* container,
                                     const NodeFacts& node, const Json& reference);

/// The command line: the container's command and args over the image's entrypoint and command.
std::vector<std::string> build_argv(const ContainerSpec& container,
                                    const std::vector<std::string>& entrypoint,
                                    const std::vector<std::string>& image_command, const Env& env);

/// ConfigMap or Secret contents by key. Fails on bad base64.
Result<kube::StringMap> object_data(const Json& object, bool secret);

}  // namespace manta::local
