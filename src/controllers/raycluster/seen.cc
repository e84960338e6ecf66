#include "controllers/raycluster/seen.h"

#include "ray/labels.h"

#include <algorithm>

namespace manta::controllers::raycluster {
namespace {

Pods labelled(const Pods& pods, std::string_view key, std::string_view value) {
  Pods out;
  std::ranges::copy_if(pods, std::back_inserter(out),
                       [&](const auto& pod) { return pod->meta.label(key) == value; });
  return out;
}

}  // namespace

Pods pods_of_type(const Pods& pods, std::string_view node_type) {
  return labelled(pods, ray::kLabelNodeType, node_type);
}

Pods pods_of_group(const Pods& pods, std::string_view group) {
  return labelled(pods, ray::kLabelGroup, group);
}

bool is_deleting(const kube::PodView& pod) { return pod.meta.deleting.has_value(); }

std::string service_account_name(const ray::RayCluster& cluster) {
  const auto named =
      string_at(cluster.spec.headGroupSpec.template_, {"spec", "serviceAccountName"});
  return named.empty() ? cluster.meta.key.name : std::string(named);
}

}  // namespace manta::controllers::raycluster
