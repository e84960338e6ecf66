#include "ray/builders/access.h"

#include "base/hash.h"
#include "base/quantity.h"
#include "ray/builders/autoscaler.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/builders/start_params.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace manta::ray {
namespace {

/// Ray's autoscaler resizes the Pods of the groups that it names, in place.
constexpr std::string_view kAnnotationResizeInPlace = "ray.io/ippr";

JsonObject owned_object(std::string_view api_version, std::string_view kind, std::string_view name,
                        const StringMap& labels, const RayCluster& cluster) {
  JsonObject metadata{{"name", name},
                      {"namespace", cluster.meta.key.namespace_},
                      {"labels", json_of(labels)},
                      {"ownerReferences", JsonArray{owner_json(cluster.meta, kKindRayCluster)}}};
  return JsonObject{{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kRbacVersion = "rbac.authorization.k8s.io/v1";

StringMap only_cluster_label(const RayCluster& cluster) {
  return {{std::string(kLabelCluster), cluster.meta.key.name}};
}

const GcsEmbeddedStorage& storage_of(const RayCluster& cluster) {
  static const GcsEmbeddedStorage kDefault;
  const auto& options = cluster.spec.gcsFaultToleranceOptions;
  return options && options->storage ? *options->storage : kDefault;
}

std::vector<std::string> access_modes(const GcsEmbeddedStorage& storage) {
  if (storage.accessModes.empty()) return {"ReadWriteOnce"};
  return storage.accessModes;
}

std::string claim_size(const GcsEmbeddedStorage& storage) {
  return storage.size ? storage.size->to_string() : "1Gi";
}

}  // namespace

Json build_autoscaler_service_account(const RayCluster& cluster) {
  return owned_object("v1", "ServiceAccount", autoscaler_service_account(cluster),
                      cluster_labels(cluster), cluster);
}

Json build_autoscaler_role(const RayCluster& cluster, const BuildOptions& options) {
  JsonObject role =
      owned_object(kRbacVersion, "Role", access_name(cluster), cluster_labels(cluster), cluster);
  auto rule = [](JsonArray verbs, std::string_view group, std::string_view resource) {
    return JsonObject{{"verbs", std::move(verbs)},
                      {"apiGroups", JsonArray{group}},
                      {"resources", JsonArray{resource}}};
  };
  JsonArray rules;
  if (options.scoped_autoscaler_role) {
    // What the autoscaler does, on its own cluster; it patches Pods to resize them only. AS-05
    rules.push_back(rule({"get", "list", "watch"}, "", "pods"));
    if (!cluster.meta.annotation(kAnnotationResizeInPlace).empty()) {
      rules.push_back(rule({"patch"}, "", "pods"));
      rules.push_back(rule({"patch"}, "", "pods/resize"));
    }
    rules.push_back(rule({"get", "patch"}, "ray.io", "rayclusters"));
    rules.back().get_object()["resourceNames"] = JsonArray{cluster.meta.key.name};
  } else {
    rules.push_back(rule({"get", "list", "watch", "patch"}, "", "pods"));
    rules.push_back(rule({"patch"}, "", "pods/resize"));
    rules.push_back(rule({"get", "patch"}, "ray.io", "rayclusters"));
  }
  role["rules"] = std::move(rules);
  return role;
}

Json build_autoscaler_role_binding(const RayCluster& cluster) {
  const std::string name = access_name(cluster);
  JsonObject binding =
      owned_object(kRbacVersion, "RoleBinding", name, cluster_labels(cluster), cluster);
  JsonArray subjects;
  subjects.push_back(JsonObject{{"kind", "ServiceAccount"},
                                {"name", autoscaler_service_account(cluster)},
                                {"namespace", cluster.meta.key.namespace_}});
  binding["subjects"] = std::move(subjects);
  binding["roleRef"] = JsonObject{{"apiGroup", kRbac}, {"kind", "Role"}, {"name", name}};
  return binding;
}

bool needs_auth_secret(const RayClusterSpec& spec) {
  const auto& auth = spec.authOptions;
  return auth && auth->mode != "disabled" && !is_true(auth->enableK8sTokenAuth) &&
         auth->secretName.value_or("").empty();
}

Json build_auth_secret(const RayCluster& cluster, const std::array<std::uint8_t, 32>& random) {
  JsonObject secret =
      owned_object("v1", "Secret", access_name(cluster), only_cluster_label(cluster), cluster);
  const std::string bytes(random.begin(), random.end());
  secret["stringData"] = JsonObject{{kAuthTokenKey, base64_encode(bytes)}};
  return secret;
}

bool needs_gcs_claim(const RayCluster& cluster) {
  return gcs_store(cluster) == GcsStore::RocksDb && storage_of(cluster).claimName.empty();
}

Json build_gcs_claim(const RayCluster& cluster) {
  const GcsEmbeddedStorage& storage = storage_of(cluster);
  JsonObject claim = owned_object("v1", "PersistentVolumeClaim", gcs_claim_name(cluster),
                                  only_cluster_label(cluster), cluster);
  if (storage.deletionPolicy == "Retain") claim.at("metadata").as_object().erase("ownerReferences");
  JsonArray modes;
  for (const auto& mode : access_modes(storage)) modes.emplace_back(mode);
  JsonObject spec{
      {"accessModes", std::move(modes)},
      {"resources", JsonObject{{"requests", JsonObject{{"storage", claim_size(storage)}}}}}};
  if (storage.storageClassName) spec["storageClassName"] = *storage.storageClassName;
  claim["spec"] = std::move(spec);
  return claim;
}

std::string gcs_claim_drift(const RayCluster& cluster, const Json& live) {
  const GcsEmbeddedStorage& storage = storage_of(cluster);
  std::vector<std::string> parts;
  const Json* live_size = find(live, {"spec", "resources", "requests", "storage"});
  const std::string size = live_size == nullptr ? "0" : quantity_text(*live_size);
  const auto current = Quantity::parse(size);
  const auto wanted = Quantity::parse(claim_size(storage));
  if (!current || !wanted || *current != *wanted)
    parts.push_back(fmt::format("requested size {} != current {}", claim_size(storage), size));

  const auto live_class = string_at(live, {"spec", "storageClassName"}, "<default>");
  if (storage.storageClassName && *storage.storageClassName != live_class)
    parts.push_back(
        fmt::format("storageClassName {} != current {}", *storage.storageClassName, live_class));

  auto modes = access_modes(storage);
  std::vector<std::string> live_modes;
  for (const Json& mode : array_at(live, {"spec", "accessModes"}))
    if (mode.is_string()) live_modes.emplace_back(std::string_view(mode.get_string()));
  if (!std::ranges::is_permutation(modes, live_modes))
    parts.push_back(fmt::format("accessModes [{}] != current [{}]", fmt::join(modes, " "),
                                fmt::join(live_modes, " ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace manta::ray
