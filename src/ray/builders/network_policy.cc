#include "ray/builders/network_policy.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/builders/start_params.h"
#include "ray/labels.h"
#include "ray/names.h"

namespace manta::ray {
namespace {

/// Whose Pods a policy is about, and the user's rules for them.
struct Target {
  std::string name;
  std::string_view group;
  JsonObject pod_labels;
  const Json& ingress_rules;
  const Json& egress_rules;
};

JsonObject cluster_peer(const RayCluster& cluster) {
  return JsonObject{
      {"podSelector",
       JsonObject{{"matchLabels", JsonObject{{kLabelCluster, cluster.meta.key.name}}}}}};
}

// The submitter's Pod is not part of the cluster, but must reach the head's dashboard.
const kube::OwnerRef* job_with_submitter(const RayCluster& cluster) {
  if (cluster.meta.label(kLabelJobSubmissionMode) != "K8sJobMode") return nullptr;
  const kube::OwnerRef* owner = cluster.meta.controller_owner();
  const bool job =
      owner != nullptr && owner->kind == kKindRayJob && owner->apiVersion.starts_with("ray.io/");
  return job ? owner : nullptr;
}

Json submitter_rule(const RayCluster& cluster, const kube::OwnerRef& job) {
  const std::int32_t port =
      port_param(start_params(cluster.spec.headGroupSpec), kParamDashboardPort, kPortDashboard);
  JsonArray ports;
  ports.push_back(JsonObject{{"protocol", "TCP"}, {"port", port}});
  JsonObject labels{{kLabelOriginCrName, job.name}, {kLabelOriginCrd, kKindRayJob}};
  JsonArray from;
  from.push_back(JsonObject{{"podSelector", JsonObject{{"matchLabels", std::move(labels)}}}});
  return JsonObject{{"ports", std::move(ports)}, {"from", std::move(from)}};
}

void append_all(JsonArray& list, const Json& items) {
  if (!items.is_array()) return;
  for (const Json& item : items.get_array()) list.push_back(item);
}

JsonArray peers_rule(std::string_view direction, const RayCluster& cluster) {
  JsonArray peers;
  peers.push_back(cluster_peer(cluster));
  JsonArray rules;
  rules.push_back(JsonObject{{direction, std::move(peers)}});
  return rules;
}

Json build_policy(const RayCluster& cluster, const Target& target, bool for_head) {
  const std::string mode = cluster.spec.networkPolicy->mode.value_or("DenyAll");
  JsonArray types;
  JsonObject spec{{"podSelector", JsonObject{{"matchLabels", target.pod_labels}}}};
  if (mode != "DenyAllEgress") {
    types.emplace_back("Ingress");
    JsonArray rules = peers_rule("from", cluster);
    if (const auto* job = for_head ? job_with_submitter(cluster) : nullptr)
      rules.push_back(submitter_rule(cluster, *job));
    append_all(rules, target.ingress_rules);
    spec["ingress"] = std::move(rules);
  }
  if (mode != "DenyAllIngress") {
    types.emplace_back("Egress");
    JsonArray rules = peers_rule("to", cluster);
    append_all(rules, target.egress_rules);
    spec["egress"] = std::move(rules);
  }
  spec["policyTypes"] = std::move(types);
  StringMap labels = cluster_labels(cluster);
  labels[std::string(kLabelGroup)] = target.group;
  JsonObject metadata{{"name", target.name},
                      {"namespace", cluster.meta.key.namespace_},
                      {"labels", json_of(labels)},
                      {"ownerReferences", JsonArray{owner_json(cluster.meta, kKindRayCluster)}}};
  return JsonObject{{"apiVersion", "networking.k8s.io/v1"},
                    {"kind", "NetworkPolicy"},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

const Json kNoRules;

Target head_target(const RayCluster& cluster) {
  const auto& rules = cluster.spec.networkPolicy->head;
  const std::string& name = cluster.meta.key.name;
  return {head_network_policy_name(name), kHeadGroup,
          JsonObject{{kLabelCluster, name}, {kLabelNodeType, kNodeTypeHead}},
          rules ? rules->ingressRules : kNoRules, rules ? rules->egressRules : kNoRules};
}

// An entry for the group replaces the rules for all workers; they are not merged.
Target worker_target(const RayCluster& cluster, const WorkerGroupSpec& group) {
  const NetworkPolicyConfig& config = *cluster.spec.networkPolicy;
  const std::string& name = cluster.meta.key.name;
  const Json* ingress = config.worker ? &config.worker->ingressRules : &kNoRules;
  const Json* egress = config.worker ? &config.worker->egressRules : &kNoRules;
  for (const auto& entry : config.workerGroups) {
    if (entry.groupName != group.groupName) continue;
    ingress = &entry.ingressRules;
    egress = &entry.egressRules;
  }
  return {
      worker_network_policy_name(name, group.groupName), group.groupName,
      JsonObject{
          {kLabelCluster, name}, {kLabelNodeType, kNodeTypeWorker}, {kLabelGroup, group.groupName}},
      *ingress, *egress};
}

}  // namespace

std::vector<Json> build_network_policies(const RayCluster& cluster) {
  std::vector<Json> policies;
  if (!cluster.spec.networkPolicy) return policies;
  policies.push_back(build_policy(cluster, head_target(cluster), true));
  for (const auto& group : cluster.spec.workerGroupSpecs)
    policies.push_back(build_policy(cluster, worker_target(cluster, group), false));
  return policies;
}

}  // namespace manta::ray
