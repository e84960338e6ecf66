#include "ray/builders/options.h"

#include "ray/labels.h"

#include <algorithm>

namespace manta::ray {
namespace {

bool equal_fold(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](unsigned char a, unsigned char b) {
    return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
  });
}

}  // namespace

void read_environment(
    BuildOptions& options,
    const std::function<std::optional<std::string>(std::string_view name)>& lookup) {
  auto is = [&](std::string_view name, std::string_view text) {
    return equal_fold(lookup(name).value_or(""), text);
  };
  options.inject_probes = !is(kOperatorEnvProbes, "false");
  options.inject_init_container = !is(kOperatorEnvInitContainer, "false");
  options.login_shell = is(kOperatorEnvLoginShell, "true");
  options.deterministic_head_pod_name = is(kOperatorEnvHeadPodName, "true");
  options.head_cluster_ip_service = is(kOperatorEnvHeadClusterIp, "true");
  if (auto domain = lookup(kOperatorEnvClusterDomain); domain && !domain->empty())
    options.cluster_domain = *domain;
}

}  // namespace manta::ray
