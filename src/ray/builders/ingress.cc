#include "ray/builders/ingress.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/builders/service.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

JsonObject entry_metadata(const RayCluster& cluster, std::string_view name, StringMap annotations) {
  StringMap labels = cluster_labels(cluster);
  labels[std::string(kLabelIdentifier)] =
      check_label(fmt::format("{}-head", cluster.meta.key.name));
  JsonObject metadata{
      {"name", name}, {"namespace", cluster.meta.key.namespace_}, {"labels", json_of(labels)}};
  if (!annotations.empty()) metadata["annotations"] = json_of(annotations);
  metadata["ownerReferences"] = JsonArray{owner_json(cluster.meta, kKindRayCluster)};
  return metadata;
}

JsonObject rule_to_dashboard(const RayCluster& cluster, const IngressOptions& options) {
  JsonObject service{{"name", head_service_name(cluster)},
                     {"port", JsonObject{{"number", dashboard_port(cluster.spec)}}}};
  JsonObject path{{"path", options.path.value_or("/")},
                  {"pathType", options.pathType.value_or("Prefix")},
                  {"backend", JsonObject{{"service", std::move(service)}}}};
  JsonObject rule;
  if (options.host && !options.host->empty()) rule["host"] = *options.host;
  JsonArray paths;
  paths.push_back(std::move(path));
  rule["http"] = JsonObject{{"paths", std::move(paths)}};
  return rule;
}

}  // namespace

Json build_head_ingress(const RayCluster& cluster) {
  const IngressOptions options =
      cluster.spec.headGroupSpec.ingressOptions.value_or(IngressOptions{});
  StringMap annotations = cluster.meta.annotations;
  JsonObject spec;
  if (const auto it = annotations.find(kAnnotationIngressClass); it != annotations.end()) {
    // The API server takes no empty one, and no cluster should wait for that. SEEN-15
    if (!it->second.empty()) spec["ingressClassName"] = it->second;
    annotations.erase(it);
  }
  JsonArray rules;
  rules.push_back(rule_to_dashboard(cluster, options));
  spec["rules"] = std::move(rules);
  if (options.tls.is_array() && !options.tls.get_array().empty()) spec["tls"] = options.tls;
  return JsonObject{{"apiVersion", "networking.k8s.io/v1"},
                    {"kind", "Ingress"},
                    {"metadata", entry_metadata(cluster, head_ingress_name(cluster.meta.key.name),
                                                std::move(annotations))},
                    {"spec", std::move(spec)}};
}

Json build_head_route(const RayCluster& cluster) {
  const auto& key = cluster.meta.key;
  JsonObject to{{"kind", "Service"}, {"name", head_service_name(cluster)}, {"weight", 100}};
  JsonObject spec{{"to", std::move(to)},
                  {"port", JsonObject{{"targetPort", dashboard_port(cluster.spec)}}},
                  {"wildcardPolicy", "None"}};
  return JsonObject{{"apiVersion", "route.openshift.io/v1"},
                    {"kind", "Route"},
                    {"metadata", entry_metadata(cluster, head_route_name(key.name, key.namespace_),
                                                cluster.meta.annotations)},
                    {"spec", std::move(spec)}};
}

}  // namespace manta::ray
