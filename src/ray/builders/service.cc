#include "ray/builders/service.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/builders/start_params.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

std::string port_name(const JsonObject& container_port) {
  const auto name = text_in(container_port, "name");
  return name.empty() ? fmt::format("{}-port", int_in(container_port, "containerPort"))
                      : std::string(name);
}

StringMap head_labels(const RayCluster& cluster) {
  StringMap labels = cluster_labels(cluster);
  labels[std::string(kLabelNodeType)] = kNodeTypeHead;
  labels[std::string(kLabelIdentifier)] =
      check_label(fmt::format("{}-head", cluster.meta.key.name));
  return labels;
}

// Of the container port behind a Service port, where it is not TCP. SEEN-10
std::string_view other_protocol(const RayClusterSpec& spec, std::string_view name) {
  std::string_view protocol;
  const JsonObject& ray = ray_container_of_template(spec.headGroupSpec.template_);
  for (const Json& port : array_of(ray, "ports"))
    if (port.is_object() && port_name(port.get_object()) == name)
      protocol = text_in(port.get_object(), "protocol");
  return protocol == "TCP" ? std::string_view() : protocol;
}

JsonObject service_port(const RayClusterSpec& spec, std::string_view name, std::int64_t number) {
  JsonObject port{{"name", name}};
  if (const auto protocol = other_protocol(spec, name); !protocol.empty())
    port["protocol"] = protocol;
  port["port"] = number;
  return port;
}

JsonArray head_ports(const RayClusterSpec& spec) {
  JsonArray ports;
  for (const auto& [name, number] : service_ports(spec)) {
    ports.push_back(service_port(spec, name, number));
    JsonObject& port = ports.back().get_object();
    if (!port.contains("protocol")) port["appProtocol"] = kServiceAppProtocol;
  }
  return ports;
}

JsonObject empty_service(JsonObject metadata, JsonObject spec) {
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "Service"},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

/// The user's Service, or a new one, with metadata and spec there.
JsonObject copy_of_users(const Json& users) {
  JsonObject service = empty_service({}, {});
  service["metadata"] = object_at(users, {"metadata"});
  service["spec"] = object_at(users, {"spec"});
  return service;
}

void set_type(JsonObject& spec, std::string_view type) {
  if (text_in(spec, "type").empty() && !type.empty()) spec["type"] = type;
}

// Nothing balances load between heads, there is one; a headless Service gives its address even
// before it is ready, which is when workers look for it.
void make_headless(JsonObject& spec) {
  spec["clusterIP"] = "None";
  spec["publishNotReadyAddresses"] = true;
}

// Those that no template can replace. RC-22
StringMap fixed_labels(const RayCluster& cluster) {
  return {{std::string(kLabelCluster), cluster.meta.key.name},
          {std::string(kLabelNodeType), std::string(kNodeTypeHead)}};
}

/// Without owner, and without the annotations and label override that only a RayCluster's own has.
JsonObject head_service(const RayCluster& cluster, const StringMap& labels,
                        const BuildOptions& options) {
  const HeadGroupSpec& head = cluster.spec.headGroupSpec;
  JsonObject service = copy_of_users(head.headService);
  JsonObject& metadata = service.at("metadata").as_object();
  JsonObject& spec = service.at("spec").as_object();
  metadata["name"] = head_service_name(cluster);
  metadata["namespace"] = cluster.meta.key.namespace_;
  set_strings(object_in(metadata, "labels"), labels);
  JsonArray& ports = array_in(spec, "ports");
  const auto& declared =
      options.ports_from_params ? with_declared_ports(cluster).spec : cluster.spec;
  for (Json& port : head_ports(declared)) ports.push_back(std::move(port));
  spec["selector"] = json_of(options.stable_selectors ? fixed_labels(cluster) : labels);
  set_type(spec, head.serviceType);
  const bool cluster_ip = head.serviceType.empty() || head.serviceType == "ClusterIP";
  if (head.headService.is_null() && cluster_ip && !options.head_cluster_ip_service)
    make_headless(spec);
  return service;
}

void set_owner(JsonObject& service, const kube::ObjectMeta& owner, std::string_view kind) {
  array_in(object_in(service, "metadata"), "ownerReferences").push_back(owner_json(owner, kind));
}

Json head_service_of_owner(const kube::ObjectMeta& owner, std::string_view kind,
                           const RayCluster& cluster, const BuildOptions& options) {
  JsonObject service = head_service(cluster, head_labels(cluster), options);
  JsonObject& metadata = service.at("metadata").as_object();
  metadata["name"] = default_head_service_name(owner.key.name);
  metadata["namespace"] = owner.key.namespace_;
  metadata["labels"] =
      JsonObject{{kLabelOriginCrName, owner.key.name},
                 {kLabelOriginCrd, kind},
                 {kLabelNodeType, kNodeTypeHead},
                 {kLabelIdentifier, check_label(fmt::format("{}-head", owner.key.name))}};
  set_owner(service, owner, kind);
  return service;
}

JsonArray serve_ports(const RayClusterSpec& spec) {
  JsonArray ports;
  for (const auto& [name, port] : service_ports(spec))
    if (name == kPortServeName || name.starts_with("serve-"))
      ports.push_back(service_port(spec, name, port));
  return ports;
}

std::unexpected<Error> no_serve_port() {
  return failed(ErrorCode::Invalid,
                "Please specify a port named 'serve' (or with the prefix 'serve-', e.g. "
                "'serve-grpc') in the Ray head container; otherwise, the Kubernetes service for "
                "Ray Serve will not be created.");
}

struct ServeService {
  std::string_view name;  // of whom it is named after
  const kube::ObjectMeta& owner;
  std::string_view owner_kind;
  std::string_view origin_kind;
  std::string_view namespace_;
  std::string_view type;
  bool only_eligible_pods = true;  // those with ray.io/serve: "true"
};

JsonObject serve_service(const ServeService& what, const RayCluster& cluster, JsonArray ports,
                         const Json& users) {
  JsonObject service = copy_of_users(users);
  JsonObject& metadata = service.at("metadata").as_object();
  JsonObject& spec = service.at("spec").as_object();
  if (text_in(metadata, "name").empty()) metadata["name"] = default_serve_service_name(what.name);
  metadata["namespace"] = what.namespace_;
  JsonObject& labels = object_in(metadata, "labels");
  labels[kLabelOriginCrName] = what.name;
  labels[kLabelOriginCrd] = what.origin_kind;
  labels[kLabelServe] = fmt::format("{}-serve", what.name);
  JsonObject selector{{kLabelCluster, cluster.meta.key.name}};
  if (what.only_eligible_pods) selector[kLabelServe] = kLabelValueTrue;
  spec["selector"] = std::move(selector);
  set_type(spec, what.type);
  if (!ports.empty()) {
    const JsonArray users_ports = array_of(spec, "ports");
    for (Json& port : ports)
      if (const auto* own = find_named(users_ports, text_in(port.as_object(), "name"))) port = *own;
    spec["ports"] = std::move(ports);
  }
  set_owner(service, what.owner, what.owner_kind);
  return service;
}

// 0: as it is.
void declare_port(JsonObject& ray_container, std::string_view name, std::int64_t number) {
  if (number <= 0) return;
  JsonArray& ports = array_in(ray_container, "ports");
  JsonObject* declared = find_named(ports, name);
  if (declared == nullptr) {
    ports.push_back(JsonObject{{"name", name}, {"containerPort", number}});
    return;
  }
  // On the host's network the two are one.
  if (int_in(*declared, "hostPort") == int_in(*declared, "containerPort"))
    (*declared)["hostPort"] = number;
  (*declared)["containerPort"] = number;
}

}  // namespace

std::map<std::string, std::int64_t, std::less<>> service_ports(const RayClusterSpec& spec) {
  std::map<std::string, std::int64_t, std::less<>> ports;
  const JsonObject& ray = ray_container_of_template(spec.headGroupSpec.template_);
  for (const Json& port : array_of(ray, "ports")) {
    if (!port.is_object()) continue;
    ports[port_name(port.get_object())] = int_in(port.get_object(), "containerPort");
  }
  if (ports.empty())
    ports = {{std::string(kPortClientName), kPortClient},
             {std::string(kPortGcsName), kPortGcs},
             {std::string(kPortDashboardName), kPortDashboard},
             {std::string(kPortServeName), kPortServe}};
  ports.emplace(kPortMetricsName, kPortMetrics);
  return ports;
}

void declare_head_ports(JsonObject& ray_container, const StringMap& params) {
  constexpr struct {
    std::string_view name;
    std::string_view param;
    std::int64_t number;
  } kUsual[] = {{kPortClientName, "ray-client-server-port", kPortClient},
                {kPortGcsName, "port", kPortGcs},
                {kPortDashboardName, kParamDashboardPort, kPortDashboard},
                {kPortMetricsName, kParamMetricsPort, kPortMetrics},
                {kPortServeName, {}, kPortServe}};
  const bool none =
      array_of(ray_container, "ports").empty();  // then the Service has the usual ones
  for (const auto& [name, param, number] : kUsual) {
    const auto moved = port_param(params, param, 0);
    declare_port(ray_container, name, moved > 0 ? moved : none ? number : 0);
  }
}

void declare_worker_ports(JsonObject& ray_container, const StringMap& params) {
  declare_port(ray_container, kPortMetricsName, port_param(params, kParamMetricsPort, 0));
}

RayCluster with_declared_ports(RayCluster cluster) {
  Json& pod_template = cluster.spec.headGroupSpec.template_;
  if (!pod_template.is_object()) return cluster;
  declare_head_ports(ray_container(object_in(pod_template.get_object(), "spec")),
                     start_params(cluster.spec.headGroupSpec));
  return cluster;
}

std::int64_t dashboard_port(const RayClusterSpec& spec) {
  const auto ports = service_ports(spec);
  const auto dashboard = ports.find(kPortDashboardName);
  return dashboard == ports.end() ? kPortDashboard : dashboard->second;
}

std::int64_t serve_container_port(const RayClusterSpec& spec) {
  const auto ports = service_ports(spec);
  const auto serve = ports.find(kPortServeName);
  return serve == ports.end() ? kPortServe : serve->second;
}

Json build_head_service(const RayCluster& cluster, const BuildOptions& options) {
  StringMap labels = head_labels(cluster);
  // The head Pod's label of that name is the user's, so the Service must look for his value.
  const auto app =
      string_at(cluster.spec.headGroupSpec.template_, {"metadata", "labels", kLabelAppName});
  if (!app.empty()) labels[std::string(kLabelAppName)] = app;
  JsonObject service = head_service(cluster, labels, options);
  if (!cluster.spec.headServiceAnnotations.empty())
    set_strings(object_in(object_in(service, "metadata"), "annotations"),
                cluster.spec.headServiceAnnotations);
  set_owner(service, cluster.meta, kKindRayCluster);
  return service;
}

Json build_head_service(const RayJob& job, const RayCluster& cluster, const BuildOptions& options) {
  return head_service_of_owner(job.meta, kKindRayJob, cluster, options);
}

Json build_head_service(const RayService& service, const RayCluster& cluster,
                        const BuildOptions& options) {
  return head_service_of_owner(service.meta, kKindRayService, cluster, options);
}

Result<Json> build_serve_service(const RayCluster& cluster) {
  JsonArray ports = serve_ports(cluster.spec);
  if (ports.empty()) return no_serve_port();
  const kube::ObjectMeta& meta = cluster.meta;
  return serve_service({.name = meta.key.name,
                        .owner = meta,
                        .owner_kind = kKindRayCluster,
                        .origin_kind = kKindRayCluster,
                        .namespace_ = meta.key.namespace_,
                        .type = cluster.spec.headGroupSpec.serviceType,
                        .only_eligible_pods = false},
                       cluster, std::move(ports), Json());
}

Result<Json> build_serve_service(const RayService& service, const RayCluster& cluster) {
  JsonArray ports = serve_ports(cluster.spec);
  if (ports.empty() && service.spec.serveService.is_null()) return no_serve_port();
  const kube::ObjectMeta& meta = service.meta;
  return serve_service({.name = meta.key.name,
                        .owner = meta,
                        .owner_kind = kKindRayService,
                        .origin_kind = kKindRayService,
                        .namespace_ = meta.key.namespace_,
                        .type = service.spec.rayClusterConfig.headGroupSpec.serviceType},
                       cluster, std::move(ports), service.spec.serveService);
}

Result<Json> build_incremental_serve_service(const RayService& service, const RayCluster& cluster) {
  JsonArray ports = serve_ports(cluster.spec);
  if (ports.empty()) return no_serve_port();
  return serve_service({.name = cluster.meta.key.name,
                        .owner = cluster.meta,
                        .owner_kind = kKindRayCluster,
                        .origin_kind = kKindRayService,
                        .namespace_ = service.meta.key.namespace_,
                        .type = service.spec.rayClusterConfig.headGroupSpec.serviceType},
                       cluster, std::move(ports), Json());
}

bool needs_headless_service(const RayClusterSpec& spec) {
  for (const auto& group : spec.workerGroupSpecs)
    if (group.numOfHosts > 1) return true;
  return false;
}

Json build_headless_worker_service(const RayCluster& cluster) {
  const std::string& name = cluster.meta.key.name;
  JsonObject metadata{{"name", headless_service_name(name)},
                      {"namespace", cluster.meta.key.namespace_},
                      {"labels", JsonObject{{kLabelHeadlessWorkerService, name}}}};
  JsonObject spec{
      {"selector", JsonObject{{kLabelCluster, name}, {kLabelNodeType, kNodeTypeWorker}}},
      {"clusterIP", "None"},
      {"type", "ClusterIP"},
      {"publishNotReadyAddresses", true}};
  JsonObject service = empty_service(std::move(metadata), std::move(spec));
  set_owner(service, cluster.meta, kKindRayCluster);
  return service;
}

}  // namespace manta::ray
