#include "ray/builders/collector.h"

#include "ray/builders/auth.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

Json default_resources() {
  return JsonObject{{"limits", JsonObject{{"cpu", "200m"}, {"memory", "256Mi"}}},
                    {"requests", JsonObject{{"cpu", "50m"}, {"memory", "64Mi"}}}};
}

void append_label(JsonObject& container, std::string_view name, std::string_view value) {
  if (!value.empty()) append_env(container, name, value);
}

}  // namespace

JsonObject build_collector_container(const RayCluster& cluster, const CollectorOptions& collector,
                                     RayNode node, const BuildOptions& options) {
  const bool head = node == RayNode::Head;
  JsonObject container{{"name", kContainerCollector}};
  if (collector.image) container["image"] = *collector.image;
  append_env_field(container, kEnvPodIp, "status.podIP");
  append_env(container, kEnvClusterName, cluster.meta.key.name);
  append_env(container, kEnvClusterNamespace, cluster.meta.key.namespace_);
  append_env(container, kEnvRayRole, head ? "Head" : "Worker");
  append_env(container, kEnvEventsPort, fmt::format("{}", kPortCollectorEvents));
  append_env(container, kEnvFqRayIp, head_host(cluster, options));
  append_label(container, kEnvOwnerKind, cluster.meta.label(kLabelOriginCrd));
  append_label(container, kEnvOwnerName, cluster.meta.label(kLabelOriginCrName));
  const JsonArray no_env;
  const JsonArray& users = collector.env.is_array() ? collector.env.get_array() : no_env;
  if (head && find_named(users, kEnvDashboardAddress) == nullptr)
    append_env(container, kEnvDashboardAddress, fmt::format("http://localhost:{}", kPortDashboard));
  for (const Json& entry : users) array_in(container, "env").push_back(entry);
  container["resources"] =
      collector.resources.is_null() ? default_resources() : collector.resources;
  container["imagePullPolicy"] = collector.imagePullPolicy.value_or("IfNotPresent");
  add_token_auth(container, cluster);
  return container;
}

void add_collector_events(JsonObject& ray_container) {
  default_env(ray_container, kEnvRayEvent, "true");
  default_env(ray_container, kEnvCoreWorkerRayEvent, "true");
  default_env(ray_container, kEnvEventsExportAddress,
              fmt::format("http://localhost:{}/v1/events", kPortCollectorEvents));
  default_env(ray_container, kEnvExposableEventTypes, kRayEventTypes);
  default_env(ray_container, kEnvHttpExposableEventTypes, kRayEventTypes);
}

}  // namespace manta::ray
