#include "ray/builders/pod.h"

#include "ray/builders/auth.h"
#include "ray/builders/autoscaler.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/collector.h"
#include "ray/builders/command.h"
#include "ray/builders/edit.h"
#include "ray/builders/gcs_ft.h"
#include "ray/builders/probes.h"
#include "ray/builders/scheduler_metadata.h"
#include "ray/builders/serve_drain.h"
#include "ray/builders/service.h"
#include "ray/builders/start_params.h"
#include "ray/builders/tls.h"
#include "ray/builders/variables.h"
#include "ray/builders/wait_gcs.h"
#include "ray/labels.h"
#include "ray/names.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>

#include <vector>

namespace manta::ray {
namespace {

/// A Pod on its way: what the steps hand on to each other.
struct Draft {
  const RayCluster& cluster;
  const BuildOptions& options;
  RayNode node;
  JsonObject metadata;
  JsonObject spec;
  StartParams params;
  /// Containers besides Ray's that share its logs, by index.
  std::vector<std::size_t> log_sharers = {};
  bool has_collector = false;

  JsonObject& ray() { return ray_container(spec); }
};

Draft start_draft(const RayCluster& cluster, const BuildOptions& options, RayNode node,
                  const Json& pod_template, const StringMap& params) {
  Draft draft{cluster,
              options,
              node,
              object_at(pod_template, {"metadata"}),
              object_at(pod_template, {"spec"}),
              params};
  draft.metadata["namespace"] = cluster.meta.key.namespace_;
  return draft;
}

// A user's label replaces the operator's, except those by which the operator finds its Pods.
void set_labels(Draft& draft, std::string_view group, const StringMap& group_labels) {
  const std::string& cluster = draft.cluster.meta.key.name;
  const std::string_view type = draft.node == RayNode::Head ? kNodeTypeHead : kNodeTypeWorker;
  const JsonObject users = object_of(draft.metadata, "labels");
  JsonObject labels{{kLabelIsRayNode, kLabelValueYes},
                    {kLabelCluster, cluster},
                    {kLabelNodeType, type},
                    {kLabelGroup, group},
                    {kLabelIdentifier, check_label(fmt::format("{}-{}", cluster, type))},
                    {kLabelAppName, kAppName},
                    {kLabelCreatedBy, kCreatedBy}};
  auto overlay = [&](std::string_view key, const Json& value) {
    if (key != kLabelNodeType && key != kLabelGroup && key != kLabelCluster) labels[key] = value;
  };
  for (const auto& [key, value] : users) overlay(key, value);
  for (const auto& [key, value] : group_labels) overlay(key, Json(std::string_view(value)));
  draft.metadata["labels"] = std::move(labels);
}

void set_overwrite_annotation(Draft& draft) {
  if (is_true_text(draft.cluster.meta.annotation(kAnnotationOverwriteCmd)))
    object_in(draft.metadata, "annotations")[kAnnotationOverwriteCmd] = "true";
}

void add_autoscaler(Draft& draft) {
  const RayClusterSpec& spec = draft.cluster.spec;
  if (!autoscaling_enabled(spec)) return;
  draft.params[std::string(kParamNoMonitor)] = "true";  // Ray's own monitor would scale, too
  draft.spec["serviceAccountName"] = autoscaler_service_account(draft.cluster);
  JsonArray& containers = array_in(draft.spec, "containers");
  draft.log_sharers.push_back(containers.size());
  containers.push_back(build_autoscaler_container(draft.cluster, draft.options));
  if (autoscaler_v2(spec)) {
    append_env(draft.ray(), kEnvEnableAutoscalerV2, "true");
    // v2 replaces Ray instances itself; a restarted container would be one it does not know.
    draft.spec["restartPolicy"] = "Never";
  } else if (autoscaler_v1(spec)) {
    append_env(draft.ray(), kEnvEnableAutoscalerV2, "false");
  }
}

void add_metrics_port(Draft& draft) {
  JsonArray& ports = array_in(draft.ray(), "ports");
  if (find_named(ports, kPortMetricsName) == nullptr)
    ports.push_back(JsonObject{{"name", kPortMetricsName}, {"containerPort", kPortMetrics}});
}

void add_security_and_collector(Draft& draft) {
  add_token_auth_to_pod(draft.spec, draft.cluster);
  if (mtls_enabled(draft.cluster.spec, draft.options))
    add_tls_to_pod(draft.spec, draft.cluster, draft.node);
  if (const auto* collector = collector_options(draft.cluster.spec, draft.options)) {
    array_in(draft.spec, "containers")
        .push_back(build_collector_container(draft.cluster, *collector, draft.node, draft.options));
  }
}

void add_operator_defaults(Draft& draft) {
  const BuildOptions& options = draft.options;
  const JsonArray& sidecars = draft.node == RayNode::Head ? options.head_sidecar_containers
                                                          : options.worker_sidecar_containers;
  for (const Json& sidecar : sidecars) array_in(draft.spec, "containers").push_back(sidecar);
  auto add_absent = [&](std::string_view key, const StringMap& values) {
    if (values.empty()) return;
    JsonObject& target = object_in(draft.metadata, key);
    for (const auto& [name, value] : values)
      if (!target.contains(name)) target[name] = value;
  };
  add_absent("annotations", options.default_pod_annotations);
  add_absent("labels", options.default_pod_labels);
}

// Whatever has its name reads Ray's logs and takes its events, also a container that the user or
// the operator's configuration brings. spec/03 §3.10
void find_collector(Draft& draft) {
  if (!draft.options.history_server) return;
  const JsonArray& containers = array_of(draft.spec, "containers");
  const auto* collector = find_named(containers, kContainerCollector);
  if (collector == nullptr) return;
  draft.has_collector = true;
  for (std::size_t i = 0; i < containers.size(); ++i)
    if (containers[i].if_object() == collector) draft.log_sharers.push_back(i);
}

void add_shared_memory(Draft& draft) {
  JsonObject& ray = draft.ray();
  if (draft.params.contains(kParamPlasmaDirectory) || mounts_path(ray, kPathSharedMemory)) return;
  JsonObject volume{{"medium", "Memory"}};
  const JsonObject& resources = object_of(ray, "resources");
  for (const auto* kind : {"limits", "requests"}) {
    const JsonObject& amounts = object_of(resources, kind);
    if (!has_value(amounts, "memory")) continue;
    volume["sizeLimit"] = amounts.at("memory");
    break;
  }
  default_volume(draft.spec,
                 JsonObject{{"name", kVolumeSharedMemory}, {"emptyDir", std::move(volume)}});
  append_mount(ray, kVolumeSharedMemory, kPathSharedMemory);
}

// Others see Ray's logs where Ray writes them: on a volume of ours, or on what the user mounted
// there. Where that cannot be told to them they start at least. SEEN-18
void add_shared_logs(Draft& draft) {
  if (draft.log_sharers.empty()) return;
  const JsonObject ours{{"name", kVolumeRayLogs}, {"emptyDir", JsonObject{}}};
  if (!mounts_path(draft.ray(), kPathRayLogs)) {
    default_volume(draft.spec, ours);
    append_mount(draft.ray(), kVolumeRayLogs, kPathRayLogs);
  }
  const JsonObject mount = *find_mount(draft.ray(), kPathRayLogs);
  for (const std::size_t index : draft.log_sharers) {
    JsonObject& sharer = draft.spec.at("containers").get_array().at(index).get_object();
    if (mounts_path(sharer, kPathRayLogs)) continue;
    if (copy_variables(draft.ray(), sharer, text_in(mount, "subPathExpr"))) {
      array_in(sharer, "volumeMounts").push_back(mount);
    } else {
      default_volume(draft.spec, ours);
      append_mount(sharer, kVolumeRayLogs, kPathRayLogs);
    }
  }
}

std::string set_command(Draft& draft) {
  derive_from_container(draft.params, draft.ray());
  std::string start = ray_start_text(draft.node, draft.params);
  const bool keep =
      is_true_text(text_in(object_of(draft.metadata, "annotations"), kAnnotationOverwriteCmd));
  set_ray_command(draft.ray(), start, keep, draft.options);
  return start;
}

void append_head_host(JsonObject& container, std::string_view host) {
  append_env(container, kEnvFqRayIp, host);
  append_env(container, kEnvRayIp, host.substr(0, host.find('.')));
}

void add_serve_env(JsonObject& ray) {
  // Short, so that Serve's proxies keep answering while the head is away.
  default_env(ray, kEnvTaskDeathInfoTimeout, "0");
  default_env(ray, kEnvGcsRequestTimeout, "5");
  default_env(ray, kEnvServeKvTimeout, "5");
}

// The last entry of a name wins, so the user's tags are taken along. SEEN-19
void append_usage_tags(JsonObject& ray, const Draft& draft) {
  auto tags = fmt::format("kuberay_version={};kuberay_crd={}", draft.options.version,
                          creator_kind(draft.cluster));
  if (const auto* users = find_named(array_of(ray, "env"), kEnvUsageStatsExtraTags)) {
    // What comes from elsewhere is the kubelet's to fill in.
    const std::string value = has_value(*users, "valueFrom")
                                  ? fmt::format("$({})", kEnvUsageStatsExtraTags)
                                  : std::string(text_in(*users, "value"));
    if (!value.empty()) tags = fmt::format("{};{}", value, tags);
  }
  append_env(ray, kEnvUsageStatsExtraTags, tags);
}

// The order is KubeRay's: what is appended comes after the user's entries and wins at run time.
// spec/03 §3.13
void set_env(Draft& draft, std::string_view ray_start) {
  const bool head = draft.node == RayNode::Head;
  const std::string host = head_host(draft.cluster, draft.options);
  if (draft.spec.contains("initContainers"))
    for (Json& init : array_in(draft.spec, "initContainers"))
      if (init.is_object()) append_head_host(init.get_object(), host);

  JsonObject& ray = draft.ray();
  for (const Json& entry : draft.options.default_container_envs)
    if (entry.is_object() && !has_env(ray, text_in(entry.get_object(), "name")))
      array_in(ray, "env").push_back(entry);
  if (!head) append_head_host(ray, host);
  append_env_field(ray, kEnvClusterName, "metadata.labels['ray.io/cluster']");
  append_env_field(ray, kEnvClusterNamespace, "metadata.namespace");
  append_env_field(ray, kEnvCloudInstanceId, "metadata.name");
  append_env_field(ray, kEnvNodeTypeName, "metadata.labels['ray.io/group']");
  append_env(ray, kEnvGenRayStartCmd, ray_start);
  const std::string port = gcs_port(start_params(draft.cluster.spec.headGroupSpec));
  default_env(ray, kEnvRayPort, port);
  if (made_by_ray_service(draft.cluster)) add_serve_env(ray);
  default_env(ray, kEnvRayAddress,
              fmt::format("{}:{}", head ? kLocalHost : std::string_view(host), port));
  default_env(ray, kEnvUsageStatsInUse, "1");
  if (head) append_usage_tags(ray, draft);
  default_env(ray, kEnvDashboardDiskUsage, "1");
  if (draft.has_collector) add_collector_events(ray);
}

/// Steps that come last and are the same for head and worker.
Json finish(Draft& draft) {
  add_operator_defaults(draft);
  find_collector(draft);
  if (made_by_ray_service(draft.cluster))
    object_in(draft.metadata, "labels")[kLabelServe] =
        draft.node == RayNode::Head ? kLabelValueFalse : kLabelValueTrue;
  add_shared_memory(draft);
  const std::string start = set_command(draft);
  set_env(draft, start);
  add_shared_logs(draft);  // the user's mount may name the environment
  if (draft.options.inject_probes)
    add_probes(draft.ray(), draft.node, draft.params, draft.cluster, draft.options);
  array_in(draft.metadata, "ownerReferences")
      .push_back(owner_json(draft.cluster.meta, kKindRayCluster));
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", std::move(draft.metadata)},
                    {"spec", std::move(draft.spec)}};
}

void set_replica_labels(Draft& draft, const WorkerGroupSpec& group, const WorkerSlot& slot) {
  if (!draft.options.multi_host_indexing) return;
  JsonObject& labels = object_in(draft.metadata, "labels");
  labels[kLabelReplicaIndex] = fmt::format("{}", slot.replica_index);
  if (group.numOfHosts <= 1) return;
  labels[kLabelReplicaName] = slot.replica_name;
  labels[kLabelHostIndex] = fmt::format("{}", slot.host_index);
}

}  // namespace

Json build_head_pod_for_cleanup(const RayCluster& cluster, const BuildOptions& options) {
  const HeadGroupSpec& group = cluster.spec.headGroupSpec;
  Draft draft = start_draft(cluster, options, RayNode::Head, group.template_, start_params(group));
  if (options.deterministic_head_pod_name)
    draft.metadata["name"] = head_pod_name(cluster.meta.key.name);
  else
    draft.metadata["generateName"] = head_pod_prefix(cluster.meta.key.name);
  if (options.ports_from_params) declare_head_ports(draft.ray(), draft.params);
  apply_group_resources(draft.params, group.resources);
  apply_group_labels(draft.params, group.labels);
  set_labels(draft, kHeadGroup, group.labels);
  apply_head_defaults(draft.params);
  set_overwrite_annotation(draft);
  add_autoscaler(draft);
  add_gcs_ft_to_head(draft.metadata, draft.spec, draft.params, cluster);
  add_metrics_port(draft);
  add_security_and_collector(draft);
  return finish(draft);
}

Json build_head_pod(const RayCluster& cluster, const BuildOptions& options) {
  Json pod = build_head_pod_for_cleanup(cluster, options);
  JsonObject& annotations = object_in(pod.as_object().at("metadata").as_object(), "annotations");
  annotations[kAnnotationRecreateHash] = recreate_hash(cluster.spec);
  annotations[kAnnotationVersion] = options.version;
  add_scheduler_metadata(pod, cluster, kHeadGroup, options);
  return pod;
}

Json build_worker_pod(const RayCluster& cluster, const WorkerGroupSpec& group,
                      const WorkerSlot& slot, const BuildOptions& options) {
  Draft draft =
      start_draft(cluster, options, RayNode::Worker, group.template_, start_params(group));
  draft.metadata.erase("name");
  draft.metadata["generateName"] = worker_pod_prefix(cluster.meta.key.name, group.groupName);
  if (options.inject_init_container) {
    JsonObject wait = build_wait_gcs_container(draft.ray(), cluster, options);
    array_in(draft.spec, "initContainers").push_back(std::move(wait));
  }
  if (options.ports_from_params) declare_worker_ports(draft.ray(), draft.params);
  apply_group_resources(draft.params, group.resources);
  apply_group_labels(draft.params, group.labels);
  set_labels(draft, group.groupName, group.labels);
  set_replica_labels(draft, group, slot);
  apply_worker_defaults(draft.params, gcs_address(cluster, options));
  set_overwrite_annotation(draft);
  add_gcs_ft_to_worker(draft.spec, cluster);
  add_metrics_port(draft);
  if (autoscaling_enabled(cluster.spec) && autoscaler_v2(cluster.spec))
    draft.spec["restartPolicy"] = "Never";
  add_security_and_collector(draft);
  if (options.serve_drain && made_by_ray_service(cluster)) add_serve_drain(draft.spec);
  Json pod = finish(draft);
  add_scheduler_metadata(pod, cluster, group.groupName, options);
  return pod;
}

}  // namespace manta::ray
