#include "controllers/networkpolicy/plan.h"

#include "controllers/writes.h"
#include "ray/builders/network_policy.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::controllers::networkpolicy {
namespace {

bool is_ours(const kube::SpecView& policy, const ray::RayCluster& cluster) {
  const auto* owner = policy.meta.controller_owner();
  return owner && owner->uid == cluster.meta.uid;
}

// It is being deleted, or belongs to a cluster of our name that is gone: its end brings us back.
bool goes_by_itself(const kube::SpecView& policy, const ray::RayCluster& cluster) {
  const auto* owner = policy.meta.controller_owner();
  return policy.meta.deleting ||
         (owner && owner->uid != cluster.meta.uid && owner->kind == ray::kKindRayCluster &&
          owner->name == cluster.meta.key.name);
}

bool is_dropped(std::string_view key, const Json& value) {
  if (value.is_null()) return true;
  if (value.is_array()) return value.get_array().empty();
  // An empty selector selects everything; empty labels within it are as good as none.
  return key == "matchLabels" && value.is_object() && value.get_object().empty();
}

// As the API server would store it: protocols filled in, empty lists left out. Compared otherwise,
// rules that users write so would differ for ever.
void settle(Json& part) {
  if (part.is_array())
    for (auto& item : part.get_array()) settle(item);
  if (!part.is_object()) return;
  auto& object = part.get_object();
  JsonObject kept;
  for (auto& [key, value] : object) {
    settle(value);
    if (key == "ports" && value.is_array())
      for (auto& port : value.get_array())
        if (port.is_object() && !port.get_object().contains("protocol"))
          port.get_object()["protocol"] = "TCP";
    if (!is_dropped(key, value)) kept[key] = std::move(value);
  }
  object = std::move(kept);
}

bool same_labels(const kube::StringMap& live, const JsonObject& wanted) {
  return live.size() == wanted.size() && std::ranges::all_of(wanted, [&](const auto& label) {
           const auto found = live.find(std::string_view(label.key()));
           return found != live.end() && label.value().is_string() &&
                  found->second == std::string_view(label.value().get_string());
         });
}

void set_events(kube::Write& write, std::string_view done, std::string_view bare,
                const std::string& key) {
  write.done_event = normal(fmt::format("{}NetworkPolicy", done), bare,
                            fmt::format("{} NetworkPolicy {}", done, key));
  std::string verb(bare);
  verb[0] = static_cast<char>(verb[0] - 'A' + 'a');
  write.failed_event = warning(fmt::format("FailedTo{}NetworkPolicy", bare), bare,
                               fmt::format("Failed to {} NetworkPolicy {}: {{error}}", verb, key));
}

// Annotations, owners and finalizers stay as they are; labels and spec are ours as a whole.
kube::Write replace(const kube::SpecView& live, const Json& wanted) {
  auto changed = live;
  changed.spec = *find(wanted, {"spec"});
  changed.meta.labels.clear();
  for (const auto& [key, value] : object_at(wanted, {"metadata", "labels"}))
    changed.meta.labels.emplace(key, std::string_view(value.get_string()));
  auto write = update(kube::kNetworkPolicies, changed, live.meta.key.name);
  write.why = "the NetworkPolicy differs from what the cluster asks for";
  return write;
}

void plan_policy(const NetworkPolicySeen& seen, Json wanted, kube::Plan& plan, kube::Stage& stage) {
  const auto key = kube::key_of(wanted);
  const auto name = key.to_string();
  const auto live = std::ranges::find_if(
      seen.policies, [&](const auto& policy) { return policy->meta.key == key; });
  if (live == seen.policies.end()) {
    stage.push_back(create(kube::kNetworkPolicies, std::move(wanted), key.name));
    set_events(stage.back(), "Created", "Create", name);
    return;
  }
  if (goes_by_itself(**live, *seen.cluster)) return;
  if (!is_ours(**live, *seen.cluster)) {
    plan.events.push_back(warning(
        "NetworkPolicyNameCollision", "Validate",
        fmt::format("NetworkPolicy {} already exists and is not owned by this RayCluster, network "
                    "isolation will not be applied. Rename the existing NetworkPolicy or use a "
                    "different RayCluster name to avoid the collision",
                    name)));
    return;
  }
  settle(ensure(wanted, {"spec"}));
  if (canonical_json((*live)->spec) == canonical_json(*find(wanted, {"spec"})) &&
      same_labels((*live)->meta.labels, object_at(wanted, {"metadata", "labels"})))
    return;
  stage.push_back(replace(**live, wanted));
  set_events(stage.back(), "Updated", "Update", name);
}

}  // namespace

kube::Plan plan(const NetworkPolicySeen& seen, const Settings&) {
  kube::Plan plan;
  const auto& cluster = *seen.cluster;
  if (cluster.meta.deleting || !ray::is_managed_by_us(cluster.spec.managedBy)) return plan;
  auto wanted = ray::build_network_policies(cluster);
  std::vector<kube::ObjectKey> names;
  kube::Stage stage;
  for (auto& policy : wanted) {
    names.push_back(kube::key_of(policy));
    plan_policy(seen, std::move(policy), plan, stage);
  }
  plan.stages.push_back(std::move(stage));
  // What is not wanted any more goes last: no moment is left unguarded.
  kube::Stage stale;
  for (const auto& policy : seen.policies) {
    if (!is_ours(*policy, cluster) || policy->meta.deleting) continue;
    if (std::ranges::find(names, policy->meta.key) != names.end()) continue;
    stale.push_back(remove(kube::kNetworkPolicies, policy->meta, policy->meta.key.name));
    set_events(stale.back(), "Deleted", "Delete", policy->meta.key.to_string());
  }
  plan.stages.push_back(std::move(stale));
  return plan;
}

}  // namespace manta::controllers::networkpolicy
